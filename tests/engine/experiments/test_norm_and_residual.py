"""What the lesson says of depth and distance, measured."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from engine.experiments.norm_and_residual import (
    MOST_LAYERS,
    STACKS,
    WORDS,
    _default,
    by_depth,
    by_distance,
    routes,
)
from engine.models.norm_and_residual import MODEL


@pytest.mark.parametrize("norm", ["layer", "rms", "none"])
@pytest.mark.parametrize(("residual", "count"), [("on", 8), ("off", 1)])
def test_the_routes_add_up_to_the_gradient(norm, residual, count):
    trace = MODEL.trace({"options": {"norm": norm, "residual": residual}})
    found = routes(trace)
    assert len(found) == count
    total = torch.tensor([route.gradient for route in found]).sum(0)
    torch.testing.assert_close(total, trace["x.grad"], rtol=1e-5, atol=1e-6)


def test_the_first_route_is_the_gradient_at_the_top_as_it_is():
    trace = MODEL.trace({})
    assert routes(trace)[0].through == ()
    assert routes(trace)[0].gradient == tuple(trace["prediction.grad"].tolist())


def test_routes_follow_edits():
    edits = [{"parameter": "layers.1.weight", "index": [None, None], "value": 0}]
    found = {route.through: route.gradient for route in routes(MODEL.trace({"edits": edits}))}
    assert found[(1,)] == (0, 0, 0, 0) and found[(0,)] != (0, 0, 0, 0)


def test_without_a_residual_a_hundred_layers_leave_nothing():
    plain = by_depth("plain")
    assert len(plain.size) == len(plain.arriving) == MOST_LAYERS + 1
    assert plain.size[-1] < 1e-30 and plain.arriving[0] < 1e-30
    assert plain.size[0] == pytest.approx(1) and plain.arriving[-1] == 1


def test_a_residual_alone_grows_and_with_a_norm_it_stays():
    grown, kept = by_depth("residual"), by_depth("residual and norm")
    assert grown.size[-1] > 100 and grown.arriving[0] > 100
    assert 1 < kept.size[-1] < 10 and 0.1 < kept.arriving[0] < 10


def test_he_s_weights_keep_a_plain_stack_within_a_hundredfold():
    he = by_depth("He")
    assert 0.01 < he.size[-1] < 100 and 0.01 < he.arriving[0] < 100


def test_an_rnn_forgets_with_distance_and_attention_does_not():
    rnn, attention = by_distance("RNN"), by_distance("attention")
    assert len(rnn) == len(attention) == WORDS
    assert all(later < earlier for earlier, later in itertools.pairwise(rnn))
    assert rnn[-1] < 1e-6
    assert max(attention[1:]) < 2 * min(attention[1:])


def test_measurements_are_the_same_each_time_and_leave_the_random_state_alone():
    state = torch.random.get_rng_state()
    assert by_depth.__wrapped__(STACKS[0]) == by_depth(STACKS[0])
    assert by_distance.__wrapped__("RNN") == by_distance("RNN")
    assert torch.equal(torch.random.get_rng_state(), state)


def test_default_weights_are_spread_as_pytorch_s():
    draw = torch.Generator().manual_seed(1)
    ours, theirs = _default(draw, 64, 64), nn.Linear(64, 64).weight
    assert ours.abs().max().item() <= 1 / 8
    assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.05)
