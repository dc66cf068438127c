"""Test images as inputs."""

from __future__ import annotations

import pytest

from engine.data import mnist
from engine.models.digit_images import TEST_IMAGES, image, image_field, place_of


def test_an_image_is_784_numbers_from_0_to_1_and_is_found_again_by_them():
    numbers = image(17)
    assert len(numbers) == 784 and min(numbers) == 0 and max(numbers) == 1
    assert place_of(numbers) == 17
    assert sum(numbers) == pytest.approx(float(mnist.images("test").pixels[17].sum()) / 255)


def test_numbers_that_are_no_image_have_no_place():
    numbers = list(image(17))
    assert place_of([*numbers[:-1], 0.5]) is None and place_of([0.001, *numbers[1:]]) is None
    assert place_of(numbers[:-1]) is None and place_of([2.0] * 784) is None


def test_the_samples_of_an_image_field_are_all_test_images():
    assert image_field().samples is TEST_IMAGES
    assert len(mnist.images("test")) == TEST_IMAGES.count
