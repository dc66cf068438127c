"""Matrices by names, and the loss of the next words."""

from __future__ import annotations

import math

import pytest
import torch

from engine.models.hand_built import next_word_loss, same, table


def test_named_cells_stand_in_their_places_and_the_rest_is_zero():
    assert table(("a", "b"), ("x", "y", "z"), {"b": {"x": 2, "z": -1}}).tolist() == [[0, 0, 0], [2, 0, -1]]
    assert torch.equal(table(("a", "b"), ("a", "b"), same("ab")), torch.eye(2))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="expected names of rows and columns; got c, w"):
        table(("a",), ("x",), {"a": {"w": 1}, "c": {"x": 1}})


def test_the_loss_is_the_mean_over_positions_of_minus_the_log_of_the_target_s_probability():
    logits = torch.tensor([[0.0, math.log(3)], [0.0, 0.0]])
    loss = next_word_loss(logits, torch.tensor([1, 0]))
    assert loss.item() == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)
    twice = next_word_loss(logits.expand(3, 2, 2), torch.tensor([[1, 0]] * 3))
    assert twice.item() == pytest.approx(loss.item())
