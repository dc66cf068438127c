"""Writes: what is overwritten keeps the value it had, and what comes of them is what plain PyTorch computes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import engine
from tests.engine.recorded import names, run, run_like_autograd


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda y: y.add_(1), [3.0, 5.0]),
        (lambda y: y.mul_(2), [4.0, 8.0]),
        (lambda y: y.relu_(), [2.0, 4.0]),
        (lambda y: F.relu(y, inplace=True), [2.0, 4.0]),
        (lambda y: y.__setitem__(0, 9.0), [9.0, 4.0]),
        (lambda y: torch.mul(y.detach(), 3, out=y.detach()), [6.0, 12.0]),
        (lambda y: y.__iadd__(1), [3.0, 5.0]),
    ],
    ids=["add_", "mul_", "relu_", "relu(inplace=True)", "setitem", "out=", "+="],
)
def test_value_recorded_before_an_in_place_write_stays_what_it_was(write, expected):
    def forward(self, x):
        y = x * 2
        write(y)
        return y.sum()

    trace = run(forward, torch.tensor([1.0, 2.0]))
    assert trace[":mul.0"].tolist() == [2.0, 4.0]
    last = (
        trace.steps[-1] if trace.steps[-1].phase == "forward" else [s for s in trace.steps if s.phase == "forward"][-1]
    )
    assert trace[last.operand("input")].tolist() == expected
    assert trace.result["prediction"] == sum(expected)


def test_gradient_recorded_before_an_in_place_relu_stays_what_it_was():
    """An edge pinned at capture: relu_ lets nothing through at -1, although the buffer holds 0 by then."""

    def forward(self, x):
        y = x * torch.tensor([3.0, 5.0])
        y.relu_()
        return (y * y).sum() / 2

    trace = run(forward, torch.tensor([1.0, -1.0]))
    assert trace[":mul.0"].tolist() == [3.0, -5.0]
    assert trace[":mul.0.grad"].tolist() == [3.0, 0.0]
    assert trace["input.0.grad"].tolist() == [9.0, 0.0]
    assert trace.result["check"]["max_residual"] == 0.0


def test_base_written_through_a_view_is_read_with_its_new_values():
    def forward(self, x):
        y = x * 1.0
        first = y[0]
        first.mul_(10)
        return (y * torch.tensor([1.0, 2.0])).sum()

    trace = run(forward, torch.tensor([1.0, 2.0]))
    assert trace.result["prediction"] == 14.0
    assert trace[":mul.0"].tolist() == [1.0, 2.0]
    assert trace[":mul.0:changed"].tolist() == [10.0, 2.0]
    assert trace.result["check"]["max_residual"] == 0.0


def test_view_of_a_base_that_is_written_is_read_with_its_new_values():
    def forward(self, x):
        y = x * 1.0
        first = y[:1]
        y.mul_(10)
        return (first * 3).sum()

    trace = run(forward, torch.tensor([1.0, 2.0]))
    assert trace.result["prediction"] == 30.0
    assert trace.result["check"]["max_residual"] == 0.0


def test_input_may_be_written_to():
    def forward(self, x):
        x[0] = 5.0
        return x.sum()

    given = torch.tensor([1.0, 2.0])
    trace = run(forward, given)
    assert given.tolist() == [1.0, 2.0]
    assert trace.result["prediction"] == 7.0
    assert trace.record(next(iter(trace.tensors))).value.tolist() == [1.0, 2.0]


def test_buffer_that_forward_writes_stays_what_it_was_on_the_shared_module():
    norm = nn.BatchNorm1d(2)
    before = norm.running_mean.clone()
    trace = engine.trace(norm, torch.tensor([[1.0, 2.0], [3.0, 6.0]]), loss=lambda out, _: out.square().sum())
    assert torch.equal(norm.running_mean, before)
    assert trace["running_mean"].tolist() == [0.0, 0.0]


WEIGHTS = torch.tensor([1.0, 10.0])


def _setitem(y: Tensor, x: Tensor) -> Tensor:
    y[0] = x[1] * 4
    return y


def _through_a_view(y: Tensor, x: Tensor) -> Tensor:
    y.view(2)[1:].mul_(x[:1])
    return y


def _through_data(y: Tensor, x: Tensor) -> Tensor:
    y.data.mul_(3)
    return y


def _in_place_of_data(y: Tensor, x: Tensor) -> Tensor:
    y.data = torch.tensor([5.0, 6.0])
    return y


def _under_no_grad(y: Tensor, x: Tensor) -> Tensor:
    with torch.no_grad():
        y[0] = 7.0
        y.mul_(2)
    return y


def _into_out(y: Tensor, x: Tensor) -> Tensor:
    out = torch.empty(2)
    with torch.no_grad():
        torch.mul(y, 3, out=out)
    return y * out


def _one_after_the_other(y: Tensor, x: Tensor) -> Tensor:
    y.add_(1).mul_(x)
    y[1].add_(x[0])
    return y


def _view_read_after(y: Tensor, x: Tensor) -> Tensor:
    first = y[0]
    first.mul_(x[1] * 3)
    return y + torch.stack([first, x[0]])


def _column_added_to(y: Tensor, x: Tensor) -> Tensor:
    square = torch.stack([y, y])
    square[:, 1] += x
    square[0] *= x
    return square.sum(0)


def _into_new_room(y: Tensor, x: Tensor) -> Tensor:
    room = torch.zeros(2, 2)
    room[0].copy_(x)
    room[:, 1] += x * y
    return room.sum(0) * y


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (_setitem, 28.0),
        (_through_a_view, 21.0),
        (_through_data, 63.0),
        (_in_place_of_data, 65.0),
        (_under_no_grad, 54.0),
        (_into_out, 123.0),
        (_one_after_the_other, 72.0),
        (_into_new_room, 141.0),
        (_view_read_after, 42.0),
        (_column_added_to, 102.0),
    ],
)
def test_write_gives_the_value_and_the_gradients_of_plain_pytorch(write: Callable, expected: float):
    trace = run_like_autograd(lambda _, x: (write(x * 1, x) * WEIGHTS).sum(), torch.tensor([1.0, 2.0]))
    assert trace[":mul.0"].tolist() == [1.0, 2.0]
    assert trace.result["prediction"] == expected


def test_write_that_autograd_does_not_see_says_so():
    trace = run(lambda _, x: _under_no_grad(x * 1, x).sum(), torch.tensor([1.0, 2.0]))
    assert [step.op for step in trace.steps if step.phase == "forward"] == [
        "mul", "setitem (no gradient)", "mul (no gradient)", "sum"
    ]  # fmt: skip
    assert [trace[name].tolist() for name in names(trace)] == [[1.0, 2.0], [7.0, 2.0], [14.0, 4.0], 18.0]


def test_parameter_written_in_forward_is_written_on_a_copy():
    layer = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))

    def forward(self, x):
        with torch.no_grad():
            self.layer.weight.mul_(2)
        return self.layer(x).sum()

    version = layer.weight._version
    trace = run_like_autograd(forward, torch.tensor([1.0, 2.0]), parts={"layer": layer})
    assert layer.weight.tolist() == [[1.0, 2.0]]
    assert layer.weight._version == version
    assert trace["layer.weight"].tolist() == [[1.0, 2.0]]
    assert trace.result["prediction"] == 10.0


def test_rows_that_an_embedding_renormalises_stay_what_they_were_on_the_shared_module():
    table = nn.Embedding(3, 2, max_norm=1.0, _weight=torch.tensor([[3.0, 4.0], [0.5, 0.0], [6.0, 8.0]]))
    trace = run_like_autograd(lambda self, ids: self.table(ids).sum(), torch.tensor([0, 1]), parts={"table": table})
    assert table.weight.tolist() == trace["table.weight"].tolist() == [[3.0, 4.0], [0.5, 0.0], [6.0, 8.0]]
    torch.testing.assert_close(
        trace["table.weight:changed"], torch.tensor([[0.6, 0.8], [0.5, 0.0], [6.0, 8.0]]), rtol=1e-5, atol=0
    )
    assert trace["table.weight.grad"].tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]


def test_random_numbers_are_the_same_when_a_write_to_a_parameter_makes_forward_run_again():
    layer = nn.Linear(4, 4)

    def forward(self, x):
        x = F.dropout(x, 0.5, training=True)
        with torch.no_grad():
            self.layer.bias.zero_()
        return self.layer(x).sum()

    torch.manual_seed(5)
    expected = F.dropout(torch.ones(4), 0.5, training=True)
    torch.manual_seed(5)
    trace = run(forward, torch.ones(4), parts={"layer": layer})
    assert trace[":dropout.0"].tolist() == expected.tolist()


def test_intervention_at_a_write_leaves_what_autograd_keeps_of_it():
    def forward(_, x):
        y = x * 2
        y.relu_()
        return (y * WEIGHTS).sum()

    held = engine.Intervention(":relu.0", (0,), "set", 5.0)
    trace = run(forward, torch.tensor([1.0, 2.0]), interventions=[held])
    assert trace[":relu.0:computed"].tolist() == [2.0, 4.0]
    assert trace[":relu.0"].tolist() == [5.0, 4.0]
    assert trace.result["prediction"] == 45.0
    assert trace["input.0.grad"].tolist() == [0.0, 20.0]
    assert trace.result["check"]["max_residual"] == 0.0
