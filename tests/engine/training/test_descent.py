"""Gradient descent against hand-worked steps, PyTorch's optimiser, and what must not change."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from engine.errors import InputError
from engine.models import catalogue
from engine.skeleton import Edit, private_copy
from engine.training.descent import Descending, descend, prepare
from engine.update import Frozen

TINY = catalogue()["tiny_network"]
ROWS = [[2.0, -1.0], [0.0, 1.0], [1.0, 0.0]]
TARGETS = [4.0, 2.0, 0.0]


def squared(prediction: torch.Tensor, target: torch.Tensor | None) -> torch.Tensor:
    assert target is not None
    return ((prediction - target) ** 2).sum() / 2


def line(weight: float = 3.0) -> nn.Linear:
    module = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        module.weight.fill_(weight)
    return module


INPUT = {"input": torch.tensor([2.0])}


def test_two_steps_worked_by_hand() -> None:
    # L = (2w - 4)^2 / 2, dL/dw = 2 (2w - 4): w = 3, 3 - 0.1*4 = 2.6, 2.6 - 0.1*2.4 = 2.36
    steps = list(descend(line(), INPUT, target=torch.tensor([4.0]), loss=squared, learning_rate=0.1, steps=2))
    assert [one.step for one in steps] == [0, 1, 2]
    assert [float(one.parameters["weight"]) for one in steps] == pytest.approx([3, 2.6, 2.36])
    assert [one.loss for one in steps] == pytest.approx([2, 0.72, 0.2592])


def test_it_goes_where_pytorch_sgd_goes() -> None:
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    inputs, target = torch.randn(5, 3), torch.randn(5, 2)
    ours = list(descend(module, {"input": inputs}, target=target, loss=squared, learning_rate=0.03, steps=25))[-1]
    optimiser = torch.optim.SGD(module.parameters(), lr=0.03)
    for _ in range(25):
        optimiser.zero_grad()
        squared(module(inputs), target).backward()
        optimiser.step()
    for name, value in module.named_parameters():
        assert torch.allclose(ours.parameters[name], value, atol=1e-6)


def test_the_module_and_the_states_before_keep_their_values() -> None:
    module = line()
    states = list(descend(module, INPUT, target=torch.tensor([4.0]), loss=squared, learning_rate=0.1, steps=3))
    assert module.weight.item() == 3
    assert module.weight.grad is None
    assert float(states[0].parameters["weight"]) == 3


def test_frozen_cells_take_part_and_stay() -> None:
    module = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, 1.0]]))
    last = list(
        descend(
            module,
            {"input": torch.tensor([1.0, 2.0])},
            target=torch.tensor([0.0]),
            loss=squared,
            learning_rate=0.1,
            steps=1,
            frozen=[Frozen("weight", (0, 0))],
        )
    )[-1]
    # the gradient is 3 * [1, 2]; only the second cell moves
    assert last.parameters["weight"].tolist() == [[1.0, pytest.approx(0.4)]]


def test_edits_set_the_start() -> None:
    first = next(
        descend(
            line(), INPUT, target=torch.tensor([4.0]), loss=squared, learning_rate=0.1, steps=1,
            edits=[Edit("weight", (0, 0), 2.0)],
        )
    )  # fmt: skip
    assert first.loss == 0


def test_an_unknown_frozen_parameter_raises() -> None:
    with pytest.raises(InputError, match=r"frozen\[0\]\.parameter must be one of weight; got 'no'"):
        next(
            descend(
                line(), INPUT, target=torch.tensor([4.0]), loss=squared, learning_rate=0.1, steps=1,
                frozen=[Frozen("no")],
            )
        )  # fmt: skip


def test_a_model_trains_from_its_request_as_its_trace_updates() -> None:
    model = catalogue()["tiny_network"]
    request = {"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": [{"parameter": "hidden.weight"}]}}
    trace = model.trace(request)
    last = list(Descending(model, request, steps=1))[-1]
    for name, value in last.parameters.items():
        assert torch.equal(value, trace[f"{name}.updated"])
    assert torch.equal(last.parameters["hidden.weight"], trace["hidden.weight"])


def test_a_rule_that_only_has_a_first_step_does_not_train() -> None:
    model = catalogue()["tiny_network"]
    with pytest.raises(InputError, match=r"update\.rule must be sgd to train; got 'adamw'"):
        list(Descending(model, {"update": {"rule": "adamw", "learning_rate": 0.1}}, steps=1))


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("momentum", lambda values: torch.optim.SGD(values, lr=0.05, momentum=0.9)),
        ("adam", lambda values: torch.optim.Adam(values, lr=0.05)),
    ],
)
def test_a_recipe_s_optimiser_goes_where_pytorch_s_goes_to_the_bit(name: str, theirs: Any) -> None:
    request = {"inputs": {"x": ROWS}, "target": TARGETS, "update": {"rule": "sgd", "learning_rate": 0.05, "frozen": []}}
    *_, ours = prepare(TINY, request, steps=20, recipe={"optimiser": name})
    module = private_copy(TINY.module({"activation": "relu"})).module
    optimiser = theirs(list(module.parameters()))
    for _ in range(20):
        optimiser.zero_grad()
        loss = TINY.loss(module(torch.tensor(ROWS)), torch.tensor(TARGETS).unsqueeze(-1))
        loss.backward()
        optimiser.step()
    for parameter, value in module.named_parameters():
        assert torch.equal(ours.parameters[parameter], value), parameter


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_a_recipe_s_optimiser_leaves_frozen_cells_alone_and_is_gone_on_with_to_the_bit(name: str) -> None:
    frozen = [{"parameter": "hidden.weight", "index": [1, 0]}, {"parameter": "readout.bias"}]
    request = {
        "inputs": {"x": ROWS},
        "target": TARGETS,
        "update": {"rule": "sgd", "learning_rate": 0.05, "frozen": frozen},
    }
    *_, whole = prepare(TINY, request, steps=9, recipe={"optimiser": name})
    before = prepare(TINY, request, steps=9, recipe={"optimiser": name})
    for progress in before:
        if progress.step == 4:
            break
    after = prepare(TINY, request, steps=9, recipe={"optimiser": name})
    after.resume(before.state())
    *_, rest = after
    start = dict(TINY.module({"activation": "relu"}).named_parameters())
    assert whole.parameters["hidden.weight"][1, 0] == start["hidden.weight"][1, 0]
    assert torch.equal(whole.parameters["readout.bias"], start["readout.bias"])
    assert not torch.equal(whole.parameters["hidden.weight"], start["hidden.weight"])
    for parameter, value in whole.parameters.items():
        assert torch.equal(rest.parameters[parameter], value), parameter


def test_another_optimiser_may_go_on_and_remembers_nothing() -> None:
    request = {"inputs": {"x": ROWS}, "target": TARGETS}
    before = prepare(TINY, request, steps=3, recipe={"optimiser": "adam"})
    *_, last = before
    after = prepare(TINY, request, steps=4, recipe={"optimiser": "momentum"})
    after.resume(before.state())
    first, _ = after
    assert (first.step, first.loss) == (3, last.loss)


@pytest.mark.parametrize("value", ["rmsprop", 3, None])
def test_an_unknown_optimiser_raises(value: Any) -> None:
    with pytest.raises(InputError, match=r"recipe\.optimiser must be one of sgd, momentum, adam; got"):
        prepare(TINY, {}, steps=1, recipe={"optimiser": value})
