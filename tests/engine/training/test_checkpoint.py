"""A state on disk: the same to the bit, whole or not there, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes

from engine.training import checkpoint


def test_a_state_comes_back_to_the_bit(tmp_path: Path) -> None:
    state = {
        "step": 7,
        "parameters": {"a.weight": torch.tensor([[0.1, float("nan")], [-0.0, 1e-45]]), "b": torch.tensor(3.0)},
        "moments": [{"first": torch.zeros(0), "order": torch.arange(4)}, 0.1],
        "tensor": "a word that the file uses itself",
        "members": {"tensor": "a"},
    }
    checkpoint.save(state, tmp_path / "new" / "7.safetensors")
    back = checkpoint.load(tmp_path / "new" / "7.safetensors")
    bits = back["parameters"]["a.weight"].view(torch.int32)
    assert torch.equal(bits, state["parameters"]["a.weight"].view(torch.int32))  # type: ignore[index]
    assert back["parameters"]["b"].shape == ()
    assert back["moments"][0]["order"].tolist() == [0, 1, 2, 3]
    assert (back["moments"][0]["first"].shape, back["moments"][1], back["step"]) == ((0,), 0.1, 7)
    assert (back["tensor"], back["members"]) == (state["tensor"], state["members"])


def test_two_paths_that_read_alike_stay_two_tensors(tmp_path: Path) -> None:
    state = {"a.b": torch.tensor(1), "a": {"b": torch.tensor(2)}}
    checkpoint.save(state, tmp_path / "one")
    back = checkpoint.load(tmp_path / "one")
    assert (int(back["a.b"]), int(back["a"]["b"])) == (1, 2)


def test_a_later_state_takes_the_place_of_an_earlier_and_leaves_no_other_file(tmp_path: Path) -> None:
    for step in (1, 2):
        checkpoint.save({"step": step}, tmp_path / "latest")
    assert checkpoint.load(tmp_path / "latest") == {"step": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]


def test_what_is_not_a_checkpoint_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path / "none")
    (tmp_path / "words").write_text("hello")
    with pytest.raises(ValueError, match="words must be a safetensors file"):
        checkpoint.load(tmp_path / "words")
    (tmp_path / "other").write_bytes(to_bytes({"a": torch.ones(1)}))
    with pytest.raises(ValueError, match="other must be a checkpoint"):
        checkpoint.load(tmp_path / "other")


def test_a_tensor_file_is_one_that_any_reader_opens() -> None:
    back = read_tensors(checkpoint.tensor_file({"w": torch.tensor([[1.0, 2.0]]).T}))
    assert back["w"].tolist() == [[1.0], [2.0]]
