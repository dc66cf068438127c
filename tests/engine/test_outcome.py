"""What a model gives back: any structure of tensors, as plain data; nothing that computes later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

import engine
from engine.outcome import plain
from tests.engine.recorded import run


@dataclass
class Output:
    logits: Tensor
    extra: Tensor | None = None


@pytest.mark.parametrize(
    "pack",
    [lambda y: (y, None), lambda y: {"logits": y}, lambda y: Output(y)],
    ids=["tuple", "dict", "dataclass"],
)
def test_structured_outputs_reach_the_loss_as_they_are(pack):
    def loss(output, _):
        y = output[0] if isinstance(output, tuple) else output["logits"] if isinstance(output, dict) else output.logits
        return y.sum()

    trace = run(lambda self, x: pack(x * 2), torch.tensor([1.0, 2.0]), loss=loss)
    assert trace.result["loss"] == 6.0


class Pair(NamedTuple):
    left: Tensor
    right: Tensor


@pytest.mark.parametrize(
    ("pack", "expected"),
    [
        (lambda y: {"logits": y, "n": 3}, {"logits": [2.0, 4.0], "n": 3}),
        (lambda y: Pair(y, y[:1]), [[2.0, 4.0], 2.0]),
        (lambda y: Output(y), {"logits": [2.0, 4.0], "extra": None}),
        (lambda y: [y.sum(), {"deep": (y > 3, y.long())}], [6.0, {"deep": [[False, True], [2, 4]]}]),
        (lambda y: torch.complex(y, y), {"real": [2.0, 4.0], "imag": [2.0, 4.0]}),
        (lambda y: object(), "object"),
        (lambda y: None, None),
    ],
    ids=["dict", "namedtuple", "dataclass", "nested", "complex", "object", "none"],
)
def test_prediction_is_the_structure_that_the_model_gave_as_plain_data(pack: Any, expected: Any):
    assert run(lambda _, x: pack(x * 2), torch.tensor([1.0, 2.0])).result["prediction"] == expected


def test_prediction_of_many_numbers_is_named_in_place_of_written():
    found = run(lambda _, x: x * 2, torch.zeros(4097)).result["prediction"]
    assert found == {"tensor": ":mul.0", "shape": [4097]}


def test_last_axis_of_one_member_is_no_list_of_its_own():
    assert plain(torch.tensor([[1.0], [2.0]])) == [1.0, 2.0]
    assert plain(torch.tensor([3])) == 3


def _yields(_: Any, x: Tensor) -> Any:
    yield x


async def _awaited(_: Any, x: Tensor) -> Any:
    return x


async def _streams(_: Any, x: Tensor) -> Any:
    yield x


@pytest.mark.parametrize(
    ("later", "kind"), [(_yields, "generator"), (_streams, "async_generator"), (_awaited, "coroutine")]
)
@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
def test_output_that_computes_later_is_refused(later: Any, kind: str):
    with pytest.raises(engine.InputError, match=f"module must return what it computes; got a {kind}, which computes"):
        run(later, torch.ones(1))


@pytest.mark.parametrize(
    ("loss", "got"),
    [
        (lambda out, _: out, r"\(2,\) of torch.float32"),
        (lambda out, _: out.sum().long(), r"\(\) of torch.int64"),
        (lambda out, _: 3.0, "float"),
    ],
)
def test_loss_that_is_no_number_with_a_fraction_is_refused(loss, got):
    with pytest.raises(engine.InputError, match=f"loss must give one number with a fraction.*; got {got}"):
        run(lambda _, x: x * 2, torch.ones(2), loss=loss)
