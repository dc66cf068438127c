"""Which images a painted unit answers to, counted again."""

from __future__ import annotations

from engine.data import mnist
from engine.experiments.detector_by_hand import IMAGES, answers


def test_a_unit_that_weighs_all_ink_alike_is_lit_by_images_with_enough_of_it():
    images = mnist.images("test").first(IMAGES)
    ink = (images.pixels.double().sum(1) / 255).tolist()
    found = answers([1.0] * 784, -100.0)
    assert list(found.lit) == [one > 100 for one in ink]
    assert found.count == sum(lit for lit, _ in found.by_digit)
    assert [of for _, of in found.by_digit] == images.labels.bincount().tolist()
    assert [found.sums[place] for place in found.strongest] == sorted(found.sums, reverse=True)


def test_a_sum_that_only_reaches_the_threshold_does_not_light_it():
    assert answers([0.0] * 784, 0.0).count == 0 and answers([0.0] * 784, 0.5).count == IMAGES
