"""The end of the dense network's picture: target, error, loss."""

from __future__ import annotations

from app.scene import network


def node(picture, cell):
    return next(node for node in picture["nodes"] if node["cell"] == cell)


def step(trace, name):
    return next(step.index for step in trace.steps if step.name == name)


def test_the_squared_error_is_marked_when_it_is_current_and_stands_before_the_loss(tiny):
    trace = tiny()
    for name, states in {
        "prediction": ("later", "later"),
        "squared_error": ("now", "later"),
        "loss": ("done", "now"),
        "loss.backward": ("now", "done"),
        "squared_error.backward": ("done", "done"),
    }.items():
        picture = network.draw(trace, None, step(trace, name))
        assert (node(picture, "squared_error")["state"], node(picture, "loss")["state"]) == states, name
    ends = [(e["source"], e["target"]) for e in picture["edges"][-3:]]
    assert ends == [(8, 10), (9, 10), (10, 11)]
    for direction, across in {"wide": False, "tall": True}.items():
        *_, target, error, loss = picture["layouts"][direction]["nodes"]
        assert (error["y"] == loss["y"]) == across and (error["x"] == loss["x"]) != across
        assert (target["x"] == loss["x"]) == across and (target["y"] == loss["y"]) != across


def test_without_an_error_of_its_own_the_outputs_lead_into_the_loss(dense):
    picture = network.draw(dense(2, 3, 1))
    kinds = [node["kind"] for node in picture["nodes"]]
    assert kinds[-2:] == ["target", "loss"]
    last = len(kinds) - 1
    assert [edge["target"] for edge in picture["edges"][-2:]] == [last, last]
