"""Arguments: what a model may be given, and that it gets it as it was."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import engine
from tests.engine.recorded import Calls, run


def test_keyword_and_plain_arguments_are_passed_on():
    def forward(self, x, scale, *, shift):
        return (x * scale + shift).sum()

    module = Calls(forward)
    trace = engine.trace(module, {"x": torch.tensor([1.0, 2.0]), "scale": 3, "shift": 1.0})
    assert trace.result["prediction"] == 11.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_floating_types_keep_their_type_and_get_gradients(dtype):
    trace = run(lambda self, x: (x * x).sum(), torch.tensor([1.0, 2.0], dtype=dtype))
    assert trace[":mul.0"].dtype == dtype
    first = next(iter(trace.tensors.values()))
    assert trace[first.gradient].tolist() == [2.0, 4.0]


def test_integer_and_bool_tensors_have_no_gradient():
    def forward(self, ids, keep):
        return torch.where(keep, self.table(ids).sum(-1), 0.0).sum()

    table = nn.Embedding(3, 2, _weight=torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    trace = run(forward, torch.tensor([0, 2]), torch.tensor([True, False]), parts={"table": table})
    assert trace.result["prediction"] == 3.0
    assert [record.gradient for record in list(trace.tensors.values())[:2]] == [None, None]
    assert trace["table.weight.grad"].tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_empty_tensors_are_recorded():
    trace = run(lambda self, x: (x * 2).sum(), torch.zeros(0, 3))
    assert trace.result["prediction"] == 0.0
    assert trace[":mul.0.grad"].shape == (0, 3)


class Pair(NamedTuple):
    left: Tensor
    right: Tensor


@dataclass(frozen=True)
class Batch:
    ids: Tensor
    scale: float = 2.0


X, Y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])


@pytest.mark.parametrize(
    ("given", "read", "recorded"),
    [
        ({"a": X, "b": Y}, lambda both: both["a"] * both["b"], ["input.0.a", "input.0.b"]),
        (OrderedDict(a=X, b=Y), lambda both: both["a"] * both["b"], ["input.0.a", "input.0.b"]),
        (Pair(X, Y), lambda both: both.left * both.right, ["input.0.0", "input.0.1"]),
        ([X, Y], lambda both: both[0] * both[1], ["input.0.0", "input.0.1"]),
        ({"pair": (X, {"last": Y})}, lambda it: it["pair"][0] * it["pair"][1]["last"],
         ["input.0.pair.0", "input.0.pair.1.last"]),
    ],
    ids=["dict", "OrderedDict", "namedtuple", "list", "nested"],
)  # fmt: skip
def test_tensors_inside_a_structure_are_inputs_with_gradients(given: Any, read: Any, recorded: list[str]):
    met = []

    def forward(_, both):
        met.append(type(both))
        return read(both).sum()

    trace = run(forward, given)
    assert met == [type(given)]
    assert trace.result["prediction"] == 13.0
    assert [record.name for record in trace.tensors.values() if record.kind == "input"] == recorded
    assert [trace[f"{name}.grad"].tolist() for name in recorded] == [[3.0, 5.0], [1.0, 2.0]]


def test_dataclass_keeps_its_plain_fields():
    trace = run(lambda _, batch: (batch.ids * batch.scale).sum(), Batch(X, 4.0))
    assert trace.result["prediction"] == 12.0
    assert trace["input.0.ids.grad"].tolist() == [4.0, 4.0]


def test_caller_s_tensors_are_left_alone():
    given = {"a": X.clone().requires_grad_()}

    def forward(_, both):
        both["a"].mul_(3)
        return both["a"].sum()

    assert run(forward, given).result["prediction"] == 9.0
    assert given["a"].tolist() == [1.0, 2.0]
    assert given["a"].grad is None


def test_complex_numbers_keep_their_type_and_get_gradients():
    trace = run(lambda _, x: (x * torch.tensor([1j, 2.0])).abs().square().sum(), torch.tensor([3 + 4j, 1j]))
    assert trace.record("input.0").dtype == "complex64"
    assert trace.result["prediction"] == pytest.approx(29.0)
    torch.testing.assert_close(trace["input.0.grad"], torch.tensor([6 + 8j, 8j]))
    with pytest.raises(engine.InputError, match=r"tensor must hold real numbers; got 'input.0', of complex64"):
        engine.explain(trace, "input.0", [0])


def test_sum_of_whole_numbers_has_no_loss_and_no_gradient():
    trace = run(lambda _, x: (x * 2).sum(), torch.tensor([1, 2]))
    assert trace.result == {"prediction": 6}
    assert engine.explain(trace, ":sum.0", []).expression.value == 6.0


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("layout", [Tensor.to_sparse, Tensor.to_sparse_csr])
def test_sparse_argument_is_refused(layout):
    kind = str(layout(torch.eye(2)).layout).removeprefix("torch.")
    with pytest.raises(engine.InputError, match=f"must have dense tensors; got a {kind} one at input.0"):
        run(lambda _, x: x.sum(), layout(torch.eye(2)))


def test_sparse_tensor_on_the_way_is_refused():
    with pytest.raises(engine.InputError, match=r"module must have dense tensors; got a sparse_coo one at :to_sparse"):
        run(lambda _, x: (x * 2).to_sparse().to_dense().sum(), X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: engine.trace(nn.ReLU(), (X, X)), r"inputs must fit forward.*; got too many positional"),
        (lambda: engine.trace(nn.ReLU(), {"y": X}), r"inputs must fit forward.*; got missing a required"),
        (lambda: engine.trace(nn.ReLU(), X, seed=-1), "seed must be a whole number from 0 to .*; got -1"),
        (lambda: engine.trace(nn.ReLU(), X, seed=True), "seed must be a whole number from 0 to .*; got True"),
    ],
)
def test_what_can_t_be_run_says_expected_and_got(call, message):
    with pytest.raises(engine.InputError, match=message):
        call()
