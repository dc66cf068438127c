"""Memory is what autograd saves and operations are those counted by hand, step by step of a trace."""

from __future__ import annotations

import functools

import pytest
import torch

from engine.experiments.training_cost import (
    PRODUCTS,
    backward_flops,
    best_cut,
    countable,
    flops,
    kept,
    moments,
    peak,
    read_by,
)
from engine.experiments.training_loop import NETWORKS, batch, step
from engine.models import catalogue
from engine.trace import Trace

tiny = functools.partial(step, "tiny_network")


def saved_by_autograd(network: str, examples: int) -> int:
    """Bytes that PyTorch's graph of a plain run of the module holds for its way back, parameters left out."""
    model, run = catalogue()[network], step(network, examples)
    options = model.canonical(batch(network, examples))["options"]
    module, loss = model.module(options), model.loss_for(options)
    own = {one.untyped_storage().data_ptr() for one in module.parameters()}
    saved: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in own and (place not in saved or saved[place].numel() < tensor.numel()):
            saved[place] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss(module(**{name: run[name] for name in run.request["inputs"]}), run["target"])
    return sum(one.numel() * one.element_size() for one in saved.values())


@pytest.mark.parametrize("examples", [1, 4])
def test_what_is_kept_of_the_tiny_network_is_what_autograd_saves(examples):
    assert peak(tiny(examples)) == saved_by_autograd("tiny_network", examples) == examples * 4 * (2 + 3 + 1 + 1)


def test_what_is_kept_of_the_digit_network_is_what_autograd_saves_for_the_loss():
    kept_bytes = 4 * (784 + 16 + 16 + 10) + 8  # the digit is a whole number of 8 bytes
    assert peak(step("digit_network", 1)) == kept_bytes
    shown_only = 4 * 10  # the probabilities, which the loss does not read, are saved for a way back that no one goes
    assert saved_by_autograd("digit_network", 1) == kept_bytes + shown_only


def test_what_is_kept_of_the_block_is_what_autograd_saves_but_for_one_number():
    """PyTorch's cross-entropy also saves how many targets it averaged over."""
    assert saved_by_autograd("one_block_one_step", 1) - peak(step("one_block_one_step", 1)) == 4


def test_each_tensor_is_kept_from_its_step_to_the_one_that_undoes_its_first_reader():
    found = {one.tensor: (one.made, one.read) for one in kept(tiny(1))}
    steps = {one.name: one.index for one in tiny(1).steps}
    assert found == {
        "x": (-1, steps["hidden.preactivation.backward"]),
        "target": (-1, steps["squared_error.backward"]),
        "hidden.activation": (steps["hidden.activation"], steps["hidden.activation.backward"]),
        "prediction": (steps["prediction"], steps["squared_error.backward"]),
    }


def test_what_is_kept_rises_forward_and_falls_back():
    for network in NETWORKS:
        trace = step(network, 2)
        values = [moment.kept for moment in moments(trace)]
        turn = next(one.index for one in trace.steps if one.phase == "backward")
        assert values[:turn] == sorted(values[:turn])
        assert values[turn:] == sorted(values[turn:], reverse=True)
        assert values[turn - 1] == peak(trace) and values[-1] == 0


def test_gradients_of_parameters_stay_for_the_update_and_those_of_activations_pass():
    after = moments(tiny(1))
    assert [moment.gradients for moment in after] == [0] * 7 + [16, 16] + [52] * 5
    assert [moment.passing for moment in after] == [0] * 5 + [4, 4, 12, 12] + [0] * 5


def test_a_batch_keeps_as_much_for_each_example():
    assert peak(step("digit_network", 4)) == 4 * peak(step("digit_network", 1))
    assert [moment.gradients for moment in moments(tiny(4))] == [moment.gradients for moment in moments(tiny(1))]


def test_operations_are_those_counted_by_hand():
    found = flops(tiny(1))
    assert found.forward == (2 * 2 * 3 + 3) + 3 + (2 * 3 + 1) + 3 + 1
    assert found.products == (2 * 6 + 2 * 3, 2 * (2 * 6 + 2 * 3))
    assert found.update == 2 * 13
    assert (found.weights, found.spared) == (9, 2 * 6)


@pytest.mark.parametrize("network", NETWORKS)
def test_each_factor_of_a_product_costs_on_the_way_back_what_the_product_did(network):
    trace = step(network, 2)
    ahead, back = flops(trace).products
    assert back == 2 * ahead
    for one in trace.steps:
        if one.phase == "forward" and one.op == "matmul":
            k = trace[one.operand("input")].shape[-1]
            assert one.flops == 2 * k * trace[one.output].numel()
            assert backward_flops(trace, one, "other") == one.flops
    assert any(one.op in PRODUCTS for one in trace.steps)


def test_dense_networks_meet_the_rule_of_two_and_four_and_attention_is_above_it():
    for network in ("tiny_network", "digit_network"):
        found = flops(step(network, 3))
        assert found.products == (2 * 3 * found.weights, 4 * 3 * found.weights)
    block = flops(step("one_block_one_step", 1))
    attention = 2 * (2 * 2 * 4 * 4 * 4)  # scores and mixes: 2 m k n for either, in two heads
    assert block.products[0] == 2 * 4 * block.weights + attention
    assert block.spared == 0


def test_a_bias_gradient_is_a_sum_over_the_examples():
    trace = tiny(4)
    assert backward_flops(trace, trace.steps[2], "bias") == 3


def test_a_cut_keeps_less_of_a_deep_network_and_computes_part_of_it_again():
    trace = step("one_block_one_step", 1)
    cut = best_cut(trace)
    assert peak(trace) / 2 <= cut.peak < 0.6 * peak(trace)
    assert 0 < cut.again < flops(trace).forward
    assert best_cut(tiny(1)).peak == peak(tiny(1))


def test_where_the_input_is_most_of_it_a_cut_helps_little():
    trace = step("digit_network", 1)
    cut = best_cut(trace)
    assert 4 * 784 + 8 < cut.peak < peak(trace)


def test_held_and_scaled_activations_are_counted_too():
    model = catalogue()["tiny_network"]

    def run(**change: object) -> Trace:
        return model.trace({"interventions": [{"at": "hidden.activation", "index": [1], **change}]})

    for trace in (run(set=0.0), run(scale=2.0)):
        assert countable(trace)
        assert peak(trace) > peak(tiny(1))
        assert "prediction" in read_by(trace, next(one for one in trace.steps if one.name == "squared_error.backward"))
