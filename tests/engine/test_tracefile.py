"""One file holds a trace; anything else is refused by name."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import engine
from engine.models import catalogue


def tiny(request=None) -> engine.Trace:
    return catalogue()["tiny_network"].trace(request or {"update": {"learning_rate": 0.1}})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.safetensors"


def test_saved_trace_comes_back_to_the_bit(path):
    trace = tiny()
    trace.save(path)
    loaded = engine.load(path)
    assert engine.manifest(loaded) == engine.manifest(trace)
    assert all(torch.equal(loaded[name], trace[name]) for name in trace.tensors)
    assert loaded.steps == trace.steps


def test_loaded_trace_explains_and_verifies_itself(path):
    engine.save(tiny(), path)
    loaded = engine.load(path)
    assert engine.explain(loaded, "x", [0], what="gradient").expression.value == 2.25
    assert engine.verify(loaded, "hidden.preactivation", [1]).ok
    assert engine.paths(loaded, "x", [0]).total == 2.25


def test_any_safetensors_reader_finds_the_tensors_by_name(path):
    engine.save(tiny(), path)
    with safe_open(str(path), framework="np") as file:
        assert file.get_tensor("hidden.activation").tolist() == [3.0, 1.0, 0.0]
        assert json.loads(file.metadata()["longhand"])["schema"] == "longhand.trace/1"


def test_arguments_that_are_no_tensors_survive(path):
    class Indexes(torch.nn.Module):
        def forward(self, x):
            picked = x[..., 1:3, None, torch.tensor([0, 1])]
            return torch.cat(
                [picked.softmax(dim=-1, dtype=torch.float64).sum((0, 1)), x.new_full((1, 2), -torch.inf)]
            ).sum()

    trace = engine.trace(Indexes(), torch.arange(24.0).reshape(2, 4, 3))
    engine.save(trace, path)
    loaded = engine.load(path)
    assert [dict(step.attributes) for step in loaded.steps] == [dict(step.attributes) for step in trace.steps]


def forge(path, change) -> None:
    trace = tiny()
    engine.save(trace, path)
    with safe_open(str(path), framework="pt") as file:
        data = json.loads(file.metadata()["longhand"])
        values = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(data, values)
    save_file(values, str(path), metadata={"longhand": json.dumps(data)})


@pytest.mark.parametrize(
    "change",
    [
        lambda data, values: data.update(schema="other/1"),
        lambda data, values: data.pop("steps"),
        lambda data, values: values.pop("x"),
        lambda data, values: data["steps"][0].update(index=7),
        lambda data, values: data["steps"][0]["inputs"][0].update(tensor="missing"),
        lambda data, values: data["tensors"][0]["axes"][0].update(size=5),
        lambda data, values: data["steps"][-8].update(forward=99),
        lambda data, values: data["steps"][0]["attributes"].update(dim={"pickle": "x"}),
    ],
    ids=["schema", "no steps", "tensor gone", "numbering", "unknown operand", "shape", "forward", "attribute"],
)
def test_forged_manifest_is_refused(path, change):
    forge(path, change)
    with pytest.raises(engine.InputError, match="file must"):
        engine.load(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a trace", b"\xff" * 64, b"\x08\0\0\0\0\0\0\0{}      "])
def test_anything_else_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(engine.InputError, match="file must"):
        engine.load(path)


def test_plain_safetensors_file_is_refused(path):
    save_file({"x": torch.ones(2)}, str(path))
    with pytest.raises(engine.InputError, match=r"must be a trace \(longhand\.trace/1 in its metadata\)"):
        engine.load(path)
