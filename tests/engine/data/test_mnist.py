"""The digits that are shipped: the file is the one that its provenance names, and is read as it should be."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch

from engine.data import mnist


def rows() -> dict[str, list[str]]:
    """The table of the folder's README by file name: what, source, licence, sha256."""
    text = mnist.FILE.with_name("README.md").read_text(encoding="utf-8")
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {name.strip(" `"): [cell.strip(" `") for cell in rest] for name, *rest in lines}


def data_files() -> list[Path]:
    return [path for path in mnist.FILE.parent.iterdir() if path.suffix in (".npz", ".safetensors", ".json", ".csv")]


def test_every_file_is_the_one_that_the_readme_names_by_its_sha256():
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in data_files()} == {
        name: row[-1] for name, row in rows().items()
    }


def test_every_file_says_where_it_comes_from_and_what_one_may_do_with_it():
    assert all(len(row) == 4 and all(row) for row in rows().values())


@pytest.mark.parametrize(
    ("split", "count", "first"), [("train", 60_000, [5, 0, 4, 1, 9]), ("test", 10_000, [7, 2, 1, 0, 4])]
)
def test_images_and_labels_are_all_there_in_order(split, count, first):
    found = mnist.images(split)
    assert len(found) == count and found.pixels.shape == (count, 784)
    assert found.labels.dtype == torch.int64 and found.labels[:5].tolist() == first
    assert found.labels.bincount().min() > count / 12


def test_numbers_run_from_0_to_1_in_float32():
    numbers = mnist.images("test").numbers(slice(0, 3))
    assert numbers.shape == (3, 784) and numbers.dtype == torch.float32
    assert (numbers.min(), numbers.max()) == (0, 1)
    assert torch.equal((numbers * 255).round().to(torch.uint8), mnist.images("test").pixels[:3])


def test_images_by_their_places_keep_the_order_asked_for():
    found = mnist.images("test")
    places = torch.tensor([2, 0])
    assert torch.equal(found.numbers(places)[1], found.numbers(slice(0, 1))[0])
    assert torch.equal(found.first(2).labels, torch.tensor([7, 2]))
