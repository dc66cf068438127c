"""Slopes tried out are backward's, the passes are counted, and long chains fade no faster than the bound."""

from __future__ import annotations

import itertools

import pytest

from engine.experiments.chain_rule import Network, along_chain, backward, cost, nudged, routes, seconds, tried_out
from engine.models.chain_rule import MODEL


@pytest.mark.parametrize("width", [1, 2, 5])
def test_slopes_tried_out_are_those_of_backward(width):
    network = Network(width)
    assert network.parameters.numel() == width**2 + 7 * width + 1
    exact = backward(network)
    assert tried_out(network, both_sides=True).tolist() == pytest.approx(exact.tolist(), abs=1e-8)
    assert tried_out(network).tolist() == pytest.approx(exact.tolist(), abs=1e-5)


def test_passes_are_counted_exactly():
    found = cost(5)
    assert (found.parameters, found.one_side, found.both_sides) == (61, 62, 122)
    assert found.errors[1] < found.errors[0] < 1e-5
    network = Network(5)
    backward(network)
    assert network.passes == 1


def test_trying_out_leaves_the_parameters_as_they_were():
    network = Network(3)
    before = network.parameters.clone()
    tried_out(network)
    tried_out(network, both_sides=True)
    assert network.parameters.equal(before)


def test_trying_out_takes_many_times_as_long():
    found = seconds(12)
    assert 0 < found.forward < found.backward < found.tried_out


@pytest.mark.parametrize(("weight", "bias"), [(1, 0), (-3, 1), (2, -1), (8, -4), (40, 0)])
def test_a_layer_hands_on_at_most_a_quarter_of_its_weight(weight, bias):
    left = along_chain(weight, bias, 12)
    assert left[0] == 1
    assert all(after <= before * abs(weight) / 4 * (1 + 1e-12) for before, after in itertools.pairwise(left))


def test_where_every_sum_is_zero_the_bound_is_met():
    assert along_chain(4, -2, 20) == pytest.approx([1] * 20)
    assert along_chain(8, -4, 11)[10] == pytest.approx(2**10)
    assert along_chain(0, 0, 3) == (1, 0, 0)


def test_paths_multiply_and_edges_add_up():
    assert routes((2, 2, 1)) == (4, 2 + 4 + 2)
    assert routes((16, 16, 10)) == (2560, 16 + 256 + 160)


def test_a_small_move_changes_the_loss_as_the_gradient_says():
    request = MODEL.canonical({})
    run = MODEL.trace(request)
    tensors = ("layer3.preactivation", "prediction", "loss")
    far, near = nudged(request, "layer3.weight", (0, 0), (1.0, 1e-4), tensors)
    gradient = run["layer3.weight.grad"].item()
    assert near[2] / 1e-4 == pytest.approx(gradient, rel=1e-3)
    assert abs(far[2] - gradient) > 100 * abs(near[2] / 1e-4 - gradient)
    assert far[0] == pytest.approx(run["layer2.activation"].item(), rel=1e-6)  # z is linear in its weight
