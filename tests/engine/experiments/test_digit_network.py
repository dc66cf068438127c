"""Measurements of the digit network: counted by hand on small cases, and what they say of the shipped weights."""

from __future__ import annotations

import pytest
import torch

from engine.data import mnist
from engine.experiments.digit_network import (
    EPOCHS,
    Noise,
    certainty,
    evaluate,
    fit,
    network_of,
    noise,
    noisy,
    outputs,
    shipped_fittings,
    spectrum,
    spectrum_of,
)
from engine.models.digit_network import MODEL, DigitNetwork, start


def always(digit: int, **options: str) -> DigitNetwork:
    """A network that gives one digit, whatever it is shown."""
    network = DigitNetwork(**options)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.output.bias[digit] = 100
    return network


def test_a_network_that_always_says_3_is_right_where_a_3_is():
    images = mnist.images("test").first(100)
    found = evaluate(always(3), images)
    threes = int((images.labels == 3).sum())
    assert found.accuracy == threes / 100 and len(found.wrong) == 100 - threes
    assert found.confusion[:, 3].tolist() == images.labels.bincount(minlength=10).tolist()
    assert found.confusion.sum() == 100 and found.answers.tolist() == [3] * 100


def test_confusion_of_the_shipped_network_adds_up_and_its_diagonal_is_what_is_right():
    found = evaluate(MODEL.module(), mnist.images("test"))
    assert found.confusion.sum(1).tolist() == mnist.images("test").labels.bincount().tolist()
    assert found.confusion.diagonal().sum().item() == round(found.accuracy * 10_000) == 10_000 - len(found.wrong)
    place = int(found.wrong[0])
    assert found.answers[place] != mnist.images("test").labels[place]


def test_outputs_are_probabilities_or_what_the_sigmoids_give():
    x = mnist.images("test").numbers(slice(0, 4))
    assert outputs(MODEL.module(), x).sum(-1).tolist() == pytest.approx([1] * 4)
    network = MODEL.module({"loss": "squared_error"})
    assert torch.equal(outputs(network, x), network(x).detach())


def test_noise_is_answered_with_confidence_by_a_trained_network_only():
    trained, untrained = noise(MODEL.module()), noise(MODEL.module({"weights": "untrained"}))
    assert trained.mean_top > 0.8 and untrained.mean_top < 0.2
    assert trained.answers[trained.most_common] > 500
    assert sum(trained.answers) == sum(untrained.answers) == 1000


def test_noise_is_seeded_and_counted():
    assert noise(MODEL.module(), 50, seed=1) == noise(MODEL.module(), 50, seed=1) != noise(MODEL.module(), 50, seed=2)
    assert noise(always(4), 20) == Noise(1.0, (0, 0, 0, 0, 20, 0, 0, 0, 0, 0))
    assert noise(always(4), 20).most_common == 4


def test_spectrum_of_a_random_matrix_is_within_what_random_matrices_give():
    matrix = torch.randn(16, 16, generator=torch.Generator().manual_seed(5))
    assert spectrum(matrix).outside <= 4  # a tenth of 16 is expected
    assert spectrum(matrix).values == pytest.approx(torch.linalg.svdvals(matrix.double()).tolist())


def test_spectrum_of_an_ordered_matrix_is_not():
    found = spectrum(torch.outer(torch.arange(1, 17), torch.arange(1, 17)).float())
    assert found.values[0] == pytest.approx(sum(n * n for n in range(1, 17))) and found.outside == 16


def test_bounds_of_the_spectrum_are_in_order():
    found = spectrum(torch.eye(6, 4), draws=50)
    assert all(low < middle < high for low, middle, high in zip(found.low, found.middle, found.high, strict=True))
    assert found.values == pytest.approx([1] * 4)


def test_second_layer_looks_random_and_the_first_does_not():
    network = MODEL.module()
    second, first = (network.get_parameter(f"{name}.weight").detach() for name in ("hidden2", "hidden1"))
    assert spectrum(second).outside <= 4
    assert spectrum(first).outside >= 12
    assert spectrum(start()["hidden2.weight"]).outside <= 4


def test_random_labels_are_fitted_slowly_and_real_ones_fast():
    real, random = shipped_fittings()[False], shipped_fittings()[True]
    assert len(real.accuracies) == len(random.accuracies) == EPOCHS + 1
    assert real.accuracies[20] > 0.95 and random.accuracies[20] < 0.6
    assert real.accuracies[-1] == 1 and random.accuracies[-1] > 0.95
    assert real.test > 0.8 and random.test < 0.2


@pytest.mark.parametrize("random_labels", [False, True])
def test_shipped_curves_begin_as_a_run_today_does(random_labels):
    found = fit(random_labels, epochs=5)
    assert found.accuracies == pytest.approx(shipped_fittings()[random_labels].accuracies[:6], abs=0.02)


def test_a_network_is_built_from_arrays_as_wide_as_they_are():
    given = {name: value.numpy() for name, value in start((5, 7)).items()}
    network = network_of(given, "sigmoid", "squared_error")
    assert [layer.out_features for layer in (network.hidden1, network.hidden2, network.output)] == [5, 7, 10]
    x = noisy(3)
    hidden = torch.sigmoid(torch.sigmoid(x @ network.hidden1.weight.T + network.hidden1.bias) @ network.hidden2.weight.T
                           + network.hidden2.bias)  # fmt: skip
    assert torch.allclose(network(x), torch.sigmoid(hidden @ network.output.weight.T + network.output.bias))
    assert [name for name, _ in network_of({k: v.numpy() for k, v in start(()).items()}, "relu", "cross_entropy")
            .named_parameters()] == ["output.weight", "output.bias"]  # fmt: skip


def test_certainty_is_the_largest_output_of_each_image():
    images = mnist.images("test")
    expected = outputs(MODEL.module(), images.numbers(torch.tensor([18, 3]))).max(-1).values
    assert certainty(MODEL.module(), images, [18, 3]) == expected.tolist()
    assert certainty(MODEL.module(), images, []) == []


def test_noise_is_uniform_from_0_to_1_and_the_same_each_time():
    x = noisy(200)
    assert torch.equal(x, noisy(200)) and x.shape == (200, 784)
    assert 0 <= x.min() < 0.001 and 0.999 < x.max() <= 1 and x.mean().item() == pytest.approx(0.5, abs=0.01)


def test_the_spectrum_of_an_array_is_that_of_its_tensor_and_scales_with_it():
    weight = noisy(16)[:, :16]
    one, twice = spectrum_of(weight.numpy(), 50), spectrum_of(2 * weight.numpy(), 50)
    assert one == spectrum(weight, 50)
    assert twice.low == pytest.approx([2 * low for low in one.low]) and twice.outside == one.outside
