from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from engine.ops.table import rows
from engine.trace import Slot
from tests.engine.ops.one_step import assert_explains, one_step, stepped, values


def numbers(*given: object) -> torch.Tensor:
    return torch.tensor(given, dtype=torch.float64, requires_grad=True)


def test_cell_is_a_reference_to_where_it_came_from() -> None:
    tree = one_step(lambda x: x.T, numbers([1, 2, 3], [4, 5, 6])).cell(2, 0)
    assert (tree.kind, tree.tensor, tree.index, tree.value) == ("ref", "input", (0, 2), 3)


def test_row_read_twice_gets_both_gradients() -> None:
    step = one_step(
        F.embedding, torch.tensor([2, 0, 2]), numbers([1, 2], [3, 4], [5, 6]), arriving=[[[1, 2], [3, 4], [5, 6]]]
    )
    assert step.cell(2, 1).value == 6
    tree = step.grad_cell("weight", 2, 0)
    assert tree.value == 1 + 5
    assert [leaf.index for leaf in tree.args] == [(0, 0), (2, 0)]
    assert step.grad_cell("weight", 1, 0).value == 0


def test_padding_row_gets_no_gradient() -> None:
    step = one_step(lambda i, w: F.embedding(i, w, padding_idx=0), torch.tensor([0, 1]), values(3, 2))
    assert step.grad_cell("weight", 0, 0).value == 0
    assert step.grad_cell("weight", 1, 0).value == step.trace["grad.out.0"][1, 0].item()


def test_joined_cells_name_their_own_tensor() -> None:
    step = one_step(lambda x, y: torch.cat([x, y]), numbers(1, 2), numbers(3), arriving=[[10, 20, 30]])
    assert [(step.cell(i).tensor, step.cell(i).value) for i in range(3)] == [
        ("tensors.0", 1),
        ("tensors.0", 2),
        ("tensors.1", 3),
    ]
    assert step.grad_cell("tensors.1", 0).value == 30


def test_copied_cell_gets_the_sum_of_its_copies_gradients() -> None:
    step = one_step(lambda x: x.expand(3, 2), numbers([1, 2]), arriving=[[[1, 2], [3, 4], [5, 6]]])
    assert step.grad_cell("input", 0, 1).value == 2 + 4 + 6


def test_cells_above_the_diagonal_come_from_nowhere() -> None:
    step = one_step(torch.tril, numbers([1, 2], [3, 4]))
    assert (step.cell(0, 1).kind, step.cell(0, 1).value) == ("const", 0)
    assert step.grad_cell("input", 0, 1).value == 0


def test_parts_of_a_split_explain_themselves() -> None:
    step = one_step(lambda x: x.split([1, 2]), numbers(1, 2, 3), arriving=[[10], [20, 30]])
    assert step.op.all_outputs
    assert step.cell(1, position=1).value == 3
    assert step.grad_cell("input", 2).value == 30


def test_part_that_goes_unused_sends_nothing() -> None:
    step = one_step(lambda x: x.unbind(0), numbers([1, 2], [3, 4]))
    tensors = dict(step.trace.tensors)
    tensors["out.1"] = one_step(torch.neg, torch.zeros(2)).trace.record("out.0")
    trace = type(step.trace)("", {}, {}, step.trace.steps, tensors, {})
    unused = type(step)(step.op, trace, step.step, step.roles, step.attributes, step.outputs)
    assert unused.grad_cell("input", 1, 0).value == 0
    assert unused.grad_cell("input", 0, 0).kind == "ref"


def test_assignment_of_a_number_leaves_a_constant_and_stops_the_gradient() -> None:
    step = stepped("setitem", {"input": values(2, 2)}, {"index": (0, slice(None)), "value": 7.0})
    assert (step.cell(0, 1).kind, step.cell(0, 1).value) == ("const", 7)
    assert step.cell(1, 1).tensor == "input"
    assert step.grad_cell("input", 0, 1).value == 0
    assert_explains(step)


def test_assignment_of_a_tensor_agrees_with_autograd() -> None:
    assert_explains(stepped("setitem", {"input": values(2, 3), "value": values(2)}, {"index": (slice(None), 1)}))
    assert_explains(stepped("setitem", {"input": values(2, 3), "value": values()}, {"index": Ellipsis}))
    indexed = {"input": values(3), "index.0": torch.tensor([2, 0]), "value": values(2)}
    assert_explains(stepped("setitem", indexed, {"index": (Slot("index.0"),)}))


def test_assignment_leaves_the_earlier_value_as_it_was() -> None:
    before = torch.zeros(2)
    rows()["setitem"].run(input=before, index=0, value=1.0)
    assert before.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "name"),
    [(torch.Tensor.view_as, "identity"), (torch.Tensor.expand_as, "expand"), (torch.Tensor.reshape_as, "reshape")],
)
def test_tensor_that_only_gives_a_shape_is_no_operand(call, name) -> None:
    step = one_step(call, numbers(1, 2), torch.zeros(2, dtype=torch.float64))
    assert step.op.name == name
    assert list(step.roles) == ["input"]
    assert one_step(lambda x, y: call(x, other=y), numbers(1, 2), torch.zeros(2)).roles.keys() == {"input"}


def test_identity_reads_its_input() -> None:
    step = one_step(lambda x: x.view_as(x), numbers(1, 2))
    assert (step.cell(1).tensor, step.cell(1).value) == ("input", 2)
    with pytest.raises(ValueError, match="identity sends a gradient to input; got 'other'"):
        step.grad_cell("other", 0)


def test_moves_cost_nothing() -> None:
    assert rows()["reshape"].flops({"input": (10, 10)}, (100,)) == 0


@given(st.permutations(range(3)), st.integers(0, 10**6))
def test_permutation_and_its_inverse_give_every_cell_back(order: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    step = one_step(lambda x: x.permute(order), values(2, 3, 2))
    assert_explains(step)
    for index in ((0, 1, 1), (1, 2, 0)):
        assert step.cell(*(index[dim] for dim in order)).index == index


def test_view_of_the_bytes_is_not_described() -> None:
    with pytest.raises(TypeError, match="view of reshape"):
        one_step(lambda x: x.view(torch.int32), torch.zeros(2))


def test_embedding_that_rescales_its_rows_is_not_described() -> None:
    with pytest.raises(TypeError):
        one_step(lambda i, w: F.embedding(i, w, max_norm=1.0), torch.tensor([0]), torch.ones(2, 2))
    with pytest.raises(TypeError):
        one_step(lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), torch.tensor([0]), torch.ones(2, 2))
