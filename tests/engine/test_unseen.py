"""Tensors that no recorded call gave: each is one opaque step, and gradients go through it as in plain PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import engine
from tests.engine.recorded import names, run, run_like_autograd

X = torch.tensor([1.0, 2.0])
WEIGHTS = torch.tensor([1.0, 10.0])


class Cube(torch.autograd.Function):
    """x³, with a backward of its own: 3 x² g."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x * x


class Swapped(torch.autograd.Function):
    """(x y, x + y), whose backward is none of theirs: 10 g + h to x, 100 g + h to y."""

    @staticmethod
    def forward(ctx, x, y):
        return x * y, x + y

    @staticmethod
    def backward(ctx, product, total):
        return product * 10 + total, product * 100 + total


def step_of(trace: engine.Trace, name: str):
    return next(step for step in trace.steps if step.name == name)


def test_custom_function_is_one_opaque_step_under_its_name():
    trace = run_like_autograd(lambda _, x: (Cube.apply(x * 2) * WEIGHTS).sum(), X)
    step = step_of(trace, ":Cube.0")
    assert (step.op, step.note, step.symbol) == ("Cube", "opaque", ":Cube.0 = Cube(:mul.0)")
    assert [(one.role, one.tensor) for one in step.inputs] == [("arg0", ":mul.0")]
    assert trace[":Cube.0"].tolist() == [8.0, 64.0]
    assert trace[":mul.0.grad"].tolist() == [12.0, 480.0]
    assert trace["input.0.grad"].tolist() == [24.0, 960.0]


def test_gradient_of_a_custom_function_is_what_its_own_backward_gives():
    def forward(_, x):
        product, total = Swapped.apply(x * 1, x * 3)
        return (product * total).sum()

    trace = run_like_autograd(forward, X)
    assert [trace[f":Swapped.{place}"].tolist() for place in (0, 1)] == [[3.0, 12.0], [4.0, 8.0]]
    assert trace[":mul.0.grad"].tolist() == [10 * 4.0 + 3, 10 * 8.0 + 12]
    assert trace[":mul.1.grad"].tolist() == [100 * 4.0 + 3, 100 * 8.0 + 12]


def test_custom_function_of_a_parameter_sends_to_the_parameter():
    layer = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
    trace = run_like_autograd(lambda self, x: (Cube.apply(self.layer.weight) @ x).sum(), X, parts={"layer": layer})
    assert trace.result["prediction"] == 17.0
    assert trace["layer.weight.grad"].tolist() == [[3.0, 24.0]]


def test_what_went_through_a_later_tensor_is_not_sent_twice():
    """y is made of x, and the function takes both: what x gets directly is apart from what it gets through y."""

    def forward(_, x):
        y = x * 5
        product, _ = Swapped.apply(x, y)
        return product.sum()

    trace = run_like_autograd(forward, X)
    sent = {
        (trace.steps[step.forward].name, one.role): trace[one.tensor].tolist()
        for step in trace.steps
        for one in step.sends
    }
    assert sent[":Swapped.0", "arg0"] == [10.0, 10.0]
    assert sent[":Swapped.0", "arg1"] == [100.0, 100.0]
    assert sent[":mul.0", "input"] == [500.0, 500.0]
    assert trace["input.0.grad"].tolist() == [510.0, 510.0]


def test_explanation_of_an_opaque_cell_says_so_and_its_gradient_is_what_was_recorded():
    trace = run(lambda _, x: (Cube.apply(x * 2) * WEIGHTS).sum(), X)
    value = engine.explain(trace, ":Cube.0", [1])
    assert (value.expression, value.note, value.captured) == (None, "opaque", 64.0)
    gradient = engine.explain(trace, ":mul.0", [1], what="gradient")
    assert (gradient.expression.value, gradient.residual, gradient.note) == (480.0, 0.0, "opaque")
    found = engine.paths(trace, "input.0", [1])
    assert (found.total, found.complete) == (960.0, False)


def test_gradient_taken_inside_forward_is_a_step():
    def forward(_, x):
        (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return (slope * WEIGHTS).sum()

    trace = run_like_autograd(forward, X)
    assert trace[":unseen.0"].tolist() == [3.0, 12.0]
    assert trace["input.0.grad"].tolist() == [6.0, 120.0]


def test_what_a_transform_of_torch_func_gives_is_a_step_and_its_inside_is_not():
    trace = run_like_autograd(lambda _, x: (torch.func.grad(lambda z: (z**3).sum())(x) * x).sum(), X)
    assert names(trace) == [":unseen.0", ":mul.0", ":sum.0"]
    assert trace["input.0.grad"].tolist() == [9.0, 36.0]


def test_activation_checkpointing_changes_nothing():
    layer = nn.Linear(2, 2)

    def block(self, x: Tensor) -> Tensor:
        return self.layer(x).tanh()

    def checkpointed(self, x: Tensor) -> Tensor:
        return torch.utils.checkpoint.checkpoint(block, self, x, use_reentrant=False).sum()

    plain = run(lambda self, x: block(self, x).sum(), X, parts={"layer": layer})
    trace = run_like_autograd(checkpointed, X, parts={"layer": layer})
    assert names(trace) == names(plain)
    assert torch.equal(trace["layer.weight.grad"], plain["layer.weight.grad"])
