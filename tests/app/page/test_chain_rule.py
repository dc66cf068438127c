"""The formulas of backward steps: they say what the run's numbers do."""

from __future__ import annotations

import pytest
import torch

import engine
from app.page.chain_rule import averaged, formulas
from engine.models import catalogue
from engine.trace import Trace

TWO = {"inputs": {"x": [[2, -1], [0, 1]]}, "target": [4, 0]}


def run(**request) -> Trace:
    return catalogue()["tiny_network"].trace(request)


def of(trace: Trace, name: str) -> list[str]:
    return formulas(trace, next(step for step in trace.steps if step.name == name))


def by(letter: str) -> str:
    return rf"\frac{{\partial L}}{{\partial {letter}}}"


def test_one_example_stands_upright():
    trace = run()
    assert of(trace, "loss.backward") == [rf"{by('s')} = \frac{{1}}{{2}} {by('L')}"]
    hat = r"\hat{y}"
    assert of(trace, "squared_error.backward") == [rf"{by(hat)} = 2 ({hat} - t) {by('s')}"]
    assert of(trace, "prediction.backward") == [
        rf"{by('h')} = v^{{\top}} {by(hat)}",
        rf"{by('v')} = {by(hat)} h^{{\top}}",
        rf"{by('c')} = {by(hat)}",
    ]
    assert of(trace, "hidden.activation.backward") == [rf"{by('z')} = {by('h')} \odot [z > 0]"]


def test_several_examples_lie_in_rows():
    trace = run(**TWO)
    assert of(trace, "hidden.preactivation.backward") == [
        rf"{by('X')} = {by('Z')} W",
        rf"{by('W')} = \left({by('Z')}\right)^{{\top}} X",
        rf"{by('b')} = \left({by('Z')}\right)^{{\top}} \mathbf{{1}}",
    ]
    step = next(step for step in trace.steps if step.name == "squared_error.backward")
    assert r"\frac{2}{N}" in formulas(trace, step)[0]
    assert averaged(trace, step) == 2


@pytest.mark.parametrize("request_", [{}, TWO])
def test_what_the_formulas_of_a_linear_step_say_is_what_it_sends(request_):
    trace = run(**request_)
    step = next(step for step in trace.steps if step.name == "hidden.preactivation.backward")
    arriving, given, weight = (trace[name] for name in ("hidden.preactivation.grad", "x", "hidden.weight"))
    rows = arriving.dim() > 1
    sent = {one.role: trace[one.tensor] for one in step.sends}
    torch.testing.assert_close(sent["input"], arriving @ weight if rows else weight.T @ arriving)
    torch.testing.assert_close(sent["weight"], arriving.T @ given if rows else torch.outer(arriving, given))
    torch.testing.assert_close(sent["bias"], arriving.T @ torch.ones(len(arriving)) if rows else arriving)


def test_a_step_without_a_row_is_the_chain_rule_itself():
    trace = engine.trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()), [torch.ones(2)], loss=torch.sum)
    step = next(step for step in trace.steps if step.phase == "backward" and step.op == "tanh")
    assert len(formulas(trace, step)) == 1
    assert r"\right)^{\top}" in formulas(trace, step)[0]


def test_a_gradient_from_several_steps_is_added_to():
    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x) + x

    trace = engine.trace(Twice(), [torch.ones(2)], loss=torch.sum)
    steps = [
        step for step in trace.steps if any(sent.to == f"{trace.steps[0].inputs[0].tensor}.grad" for sent in step.sends)
    ]
    assert len(steps) == 2
    assert all(r"\mathrel{+}=" in "".join(formulas(trace, step)) for step in steps)


def test_forward_and_update_steps_have_no_such_formula():
    trace = run(update={"rule": "sgd", "learning_rate": 0.1})
    assert all(not formulas(trace, step) for step in trace.steps if step.phase != "backward")
