"""Crowded facts: at right angles nothing leaks, more facts disturb more, the gate keeps most of it out."""

from __future__ import annotations

import itertools

import pytest
import torch

from engine.experiments.where_facts_live import COUNTS, DIMENSIONS, crowded, starts, welch


def test_disturbance_grows_and_the_gate_holds_most_of_it_back():
    rows = crowded()
    assert [row.facts for row in rows] == list(COUNTS)
    assert all(one.ungated < two.ungated and one.gated <= two.gated for one, two in itertools.pairwise(rows))
    assert all(row.gated < row.ungated / 5 for row in rows)
    assert all(row.right_gated >= row.right_ungated for row in rows)


def test_far_more_facts_than_dimensions_are_still_read_right():
    row = next(row for row in crowded() if row.facts == 16 * DIMENSIONS)
    assert row.right_gated > 0.95 and row.right_ungated < 0.1


def test_without_a_gate_the_disturbance_is_what_random_directions_give():
    for row in crowded():
        assert row.ungated == pytest.approx(((row.facts - 1) / DIMENSIONS) ** 0.5, rel=0.3)


def test_no_keys_come_closer_than_the_bound_allows():
    assert welch(8, 16) == 0 and welch(16, 16) == 0
    assert welch(10_000, 100) == pytest.approx(0.09950371902099892)
    assert all(row.closest >= row.bound for row in crowded())


def test_directions_that_meet_the_bound_exist():
    angles = torch.tensor([0.0, 2.0, 4.0]) * torch.pi / 3
    three = torch.stack((angles.cos(), angles.sin()), -1)
    assert (three @ three.T).fill_diagonal_(0).abs().max().item() == pytest.approx(welch(3, 2), rel=1e-6)


def test_not_every_start_learns():
    for activation in ("relu", "gelu"):
        assert 0 < starts(activation) < 200
    assert starts("relu") == starts("relu")
