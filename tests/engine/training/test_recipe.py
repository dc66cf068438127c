"""What may be chosen for the digit network's training, and what is refused with expected and got."""

from __future__ import annotations

import math

import pytest

from engine.errors import InputError
from engine.training.optimisers import SGD, Adam
from engine.training.recipe import RATES, Recipe


def test_what_is_not_given_is_by_default():
    assert Recipe.read({}) == Recipe()
    assert Recipe().widths == (16, 16)
    assert Recipe().batches == 600


@pytest.mark.parametrize("optimiser", RATES)
def test_every_optimiser_has_a_rate_of_its_own(optimiser):
    assert Recipe.read({"optimiser": optimiser}).learning_rate == RATES[optimiser]
    assert Recipe.read({"optimiser": optimiser, "learning_rate": 1}).learning_rate == 1


def test_optimisers_take_the_settings_that_are_theirs():
    settings = {"momentum": 0.5, "weight_decay": 0.1}
    assert Recipe.read({"optimiser": "sgd", **settings}).new_optimiser() == SGD(0, 0.1)
    assert Recipe.read({"optimiser": "momentum", **settings}).new_optimiser() == SGD(0.5, 0.1)
    assert Recipe.read({"optimiser": "adam", **settings}).new_optimiser() == Adam(0.1)


def test_a_cosine_falls_from_the_rate_to_nothing():
    recipe = Recipe.read({"learning_rate": 2, "schedule": "cosine"})
    assert [recipe.rate(step, 4) for step in range(5)] == pytest.approx(
        [2, 1 + math.sqrt(0.5), 1, 1 - math.sqrt(0.5), 0]
    )
    assert Recipe.read({"learning_rate": 2}).rate(3, 4) == 2


def test_widths_are_read_from_their_text():
    assert Recipe.read({"hidden": "32"}).widths == (32,)
    assert Recipe.read({"hidden": "none"}).widths == ()


def test_whole_numbers_may_come_as_floats():
    recipe = Recipe.read({"batch_size": 50.0, "images": 1000})
    assert (recipe.batch_size, recipe.batches) == (50, 20) and isinstance(recipe.batch_size, int)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"speed": 1}, "recipe.speed must be one of optimiser, learning_rate, .*; got 'speed'"),
        ({"optimiser": "adamw"}, "recipe.optimiser must be one of sgd, momentum, adam; got 'adamw'"),
        ({"optimiser": ["sgd"]}, "recipe.optimiser must be one of"),
        ({"learning_rate": -1}, "recipe.learning_rate must be from 0 to 1000; got -1"),
        ({"learning_rate": "1"}, "recipe.learning_rate must be a number; got '1'"),
        ({"learning_rate": float("nan")}, "recipe.learning_rate must be a finite number; got nan"),
        ({"momentum": 1}, "recipe.momentum must be from 0 to 0.9999; got 1"),
        ({"batch_size": 0}, "recipe.batch_size must be from 1 to 10000; got 0"),
        ({"batch_size": 1.5}, "recipe.batch_size must be a whole number; got 1.5"),
        ({"batch_size": True}, "recipe.batch_size must be a number; got True"),
        ({"images": 60001}, "recipe.images must be from 1 to 60000; got 60001"),
        ({"schedule": "step"}, "recipe.schedule must be one of constant, cosine; got 'step'"),
        ({"random_labels": 1}, "recipe.random_labels must be true or false; got 1"),
        ({"hidden": "16-0"}, "recipe.hidden must be none, or up to 4 widths from 1 to 256, such as 16-16; got '16-0'"),
        ({"hidden": "257"}, "recipe.hidden must be none, or .*; got '257'"),
        ({"hidden": "1-1-1-1-1"}, "recipe.hidden must be none, or .*; got '1-1-1-1-1'"),
        ({"hidden": 16}, "recipe.hidden must be none, or .*; got 16"),
    ],
)
def test_what_does_not_fit_says_expected_and_got(recipe, message):
    with pytest.raises(InputError, match=message):
        Recipe.read(recipe)
