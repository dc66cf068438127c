"""A table made ready: standardised by the training rows alone, words one-hot, the target a class or a number."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.data import table
from engine.data.prepared import prepared
from engine.errors import InputError

LINES = ["size,colour,kind,price", *(f"{at},{'red' if at % 3 else 'blue'},{at % 2},{at / 4}" for at in range(1, 13))]
TABLE = table.read("\n".join(LINES).encode())


def test_rows_are_split_by_the_seed_and_none_is_lost():
    one, same, other = (prepared(TABLE, 3, seed=seed) for seed in (0, 0, 1))
    assert len(one.validation) == 3
    assert sorted([*one.training.tolist(), *one.validation.tolist()]) == list(range(12))
    assert torch.equal(one.training, same.training) and not torch.equal(one.training, other.training)


def test_numbers_are_standardised_by_the_training_rows():
    found = prepared(TABLE, 3)
    sizes = TABLE.columns[0].values[found.training.numpy()]
    assert found.features[0].mean == pytest.approx(sizes.mean())
    assert found.features[0].deviation == pytest.approx(np.sqrt(((sizes - sizes.mean()) ** 2).mean()))
    training = found.inputs[found.training, 0]
    assert training.mean().item() == pytest.approx(0, abs=1e-6)
    assert training.std(correction=0).item() == pytest.approx(1)
    assert found.inputs[4, 0].item() == pytest.approx((5 - found.features[0].mean) / found.features[0].deviation)


def test_words_are_one_hot():
    found = prepared(TABLE, 3)
    assert [one.name for one in found.features] == ["size", "colour = blue", "colour = red", "kind"]
    assert found.inputs[:3, 1:3].tolist() == [[0, 1], [0, 1], [1, 0]]


def test_a_constant_column_becomes_zero():
    same = table.read(b"a,b\n" + b"".join(b"5,%d.5\n" % at for at in range(8)))
    assert prepared(same, 1).inputs.tolist() == [[0.0]] * 8


def test_a_target_of_few_whole_numbers_is_a_class_unless_asked_otherwise():
    found = prepared(TABLE, 2)
    assert found.task == "class" and found.classes == ("0", "1") and found.outputs == 2
    assert found.target.flatten().tolist() == [at % 2 for at in range(1, 13)]
    number = prepared(TABLE, 2, "number")
    assert number.task == "number" and number.outputs == 1


def test_a_target_of_words_is_a_class():
    found = prepared(TABLE, 1)
    assert found.task == "class" and found.classes == ("blue", "red")
    assert [one.name for one in found.features] == ["size", "kind", "price"]


def test_a_target_of_fractions_is_a_number_standardised_as_inputs_are():
    found = prepared(TABLE, 3)
    assert found.task == "number" and found.classes == ()
    back = found.target.double() * found.aim.deviation + found.aim.mean
    assert back.flatten().tolist() == pytest.approx([at / 4 for at in range(1, 13)], abs=1e-6)


def test_two_inputs_of_numbers_are_a_plane():
    assert prepared(table.read(b"a,b,c\n" + b"1.5,2,x\n0,1,y\n" * 4), 2).plane
    assert not prepared(TABLE, 3).plane
    assert not prepared(table.read(b"a,b,c\n" + b"1.5,u,x\n0,u,y\n" * 4), 2).plane


@pytest.mark.parametrize(
    ("target", "task", "message"),
    [
        (1, "number", "task must be class where the target is words; got number for column colour"),
        (4, "auto", "target must be a column from 1 to 4; got 5"),
    ],
)
def test_a_target_that_does_not_fit_raises(target, task, message):
    with pytest.raises(InputError, match=message):
        prepared(TABLE, target, task)


def test_a_class_of_too_many_values_one_value_and_many_words_raise():
    many = table.read(b"a,b,c\n" + b"".join(b"%d,word%d,7\n" % (at, at) for at in range(13)))
    for target, task, message in (
        (0, "class", "task must be number where the target has more than 12 values; got 13"),
        (1, "auto", "target must be numbers or at most 12 different words; got column b"),
        (2, "auto", "target must have at least 2 different values; got 1 in c"),
    ):
        with pytest.raises(InputError, match=message):
            prepared(many, target, task)
    with pytest.raises(InputError, match="table must have a column besides the target that can be an input; got none"):
        prepared(table.read(b"a,b\n" + b"".join(b"%d,word%d\n" % (at, at) for at in range(13))), 0, "number")
