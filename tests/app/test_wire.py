"""Traces as JSON data: exact values, statistics, and what JSON has no number for."""

from __future__ import annotations

import json
import math

import pytest
import torch

from app import wire
from engine.trace import Axis, TensorRecord


def record(value: torch.Tensor, name: str = "h", labels: tuple[str, ...] | None = None) -> TensorRecord:
    axes = tuple(Axis(f"axis{place}", size, labels) for place, size in enumerate(value.shape))
    return TensorRecord(name, name, "activation", axes, value)


def test_float32_is_written_as_its_shortest_decimal() -> None:
    data = wire.tensor_data(record(torch.tensor([0.1, -3.5])), "id")
    assert data["data"] == [0.1, -3.5]
    assert torch.equal(torch.tensor(data["data"]), torch.tensor([0.1, -3.5]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int64, torch.int8, torch.uint8])
def test_every_kind_of_number_reads_back_to_the_same_bits(dtype: torch.dtype) -> None:
    value = torch.tensor([[1, 0, 3], [4, 5, 6]]).to(dtype) / (3 if dtype.is_floating_point else 1)
    value = value.to(dtype)
    data = wire.tensor_data(record(value), "id")
    assert torch.equal(torch.tensor(data["data"], dtype=dtype), value)
    assert data["shape"] == [2, 3]


def test_bfloat16_is_written_through_float32_and_keeps_its_name() -> None:
    value = torch.tensor([1.0, 2.0]).bfloat16() / 3
    data = wire.tensor_data(record(value), "id")
    assert data["dtype"] == "bfloat16"
    assert torch.equal(torch.tensor(data["data"]).bfloat16(), value)


def test_a_tensor_without_axes_is_a_number_and_a_transposed_one_is_read_in_its_own_order() -> None:
    assert wire.tensor_data(record(torch.tensor(1.125)), "id")["data"] == 1.125
    assert wire.tensor_data(record(torch.tensor([[1.0, 2.0], [3.0, 4.0]]).T), "id")["data"] == [[1, 3], [2, 4]]


def test_nan_and_infinities_are_null_and_listed() -> None:
    data = wire.tensor_data(record(torch.tensor([[1.0, math.nan], [math.inf, -math.inf]])), "id")
    assert data["data"] == [[1.0, None], [None, None]]
    assert data["nonfinite"] == [
        {"index": [0, 1], "value": "nan"},
        {"index": [1, 0], "value": "inf"},
        {"index": [1, 1], "value": "-inf"},
    ]
    assert data["stats"]["nonfinite"] == 3
    assert data["stats"]["max"] == 1
    assert b"NaN" not in wire.dumps(data)


def test_a_single_nan_has_an_empty_index() -> None:
    assert wire.tensor_data(record(torch.tensor(math.nan)), "id")["nonfinite"] == [{"index": [], "value": "nan"}]


@pytest.mark.parametrize("count", [6, 600])
def test_statistics_are_those_of_the_values_few_or_many(count: int) -> None:
    value = torch.arange(count).reshape(-1, 3) / 7 - 10
    stats = wire.tensor_data(record(value), "id")["stats"]
    exact = value.double()
    assert stats["mean"] == pytest.approx(float(exact.mean()), rel=1e-6)
    assert stats["std"] == pytest.approx(float(exact.std(correction=0)), rel=1e-6)
    assert stats["norm"] == pytest.approx(float(exact.norm()), rel=1e-6)
    assert stats["min"] == float(str(value.min().numpy()))
    assert stats["zeros"] == int((value == 0).sum())


def test_statistics_of_nothing_are_null() -> None:
    stats = wire.tensor_data(record(torch.zeros(0, 3)), "id")["stats"]
    assert stats == {"min": None, "max": None, "mean": None, "std": None, "norm": None, "zeros": 0, "nonfinite": 0}


def test_beyond_4096_values_there_is_an_address_and_no_data() -> None:
    data = wire.tensor_data(record(torch.arange(4097.0), name="a:b@2/c"), "id")
    assert "data" not in data
    assert data["href"] == "/api/v1/traces/id/tensors/a%3Ab%402%2Fc"
    assert data["stats"]["max"] == 4096
    assert len(wire.tensor_data(record(torch.arange(4096.0)), "id")["data"]) == 4096


def test_labels_name_the_members_of_an_axis() -> None:
    data = wire.tensor_data(record(torch.zeros(2), labels=("cat", "dog")), "id")
    assert data["axes"] == [{"name": "axis0", "size": 2, "labels": ["cat", "dog"]}]


def test_a_result_that_is_not_finite_says_where() -> None:
    data = wire.result_data({"prediction": [1.0, math.inf], "loss": math.nan})
    assert data["prediction"] == [1.0, None]
    assert data["nonfinite"] == [{"at": "prediction[1]", "value": "inf"}, {"at": "loss", "value": "nan"}]
    assert json.loads(wire.dumps(data)) == data


def test_a_cell_is_the_number_that_data_shows() -> None:
    one = record(torch.tensor([0.1]))
    assert wire.cell_value(one, one.value[0].item()) == 0.1
    assert wire.cell_value(record(torch.tensor([0.1], dtype=torch.float64)), 0.1) == 0.1
    assert math.isnan(wire.cell_value(one, math.nan))
