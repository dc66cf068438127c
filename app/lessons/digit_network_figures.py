"""Pictures, tables and charts of a digit network, for the lesson's text and for its training panel."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.curves import Curve, figure
from app.numbers import single
from app.picture import picture
from engine.data import mnist
from engine.experiments.digit_network import Evaluation, Fitting, Spectrum
from engine.models.digit_images import image

GRID = (mnist.SIDE, mnist.SIDE)
MOST_PICTURES = 32
EXAMPLES = 12

Data = dict[str, Any]


def weight_pictures(weight: np.ndarray) -> list[str]:
    """A picture for each unit of a layer that reads the image, each at full strength where it is largest."""
    return [picture(row, GRID) for row in weight[:MOST_PICTURES]]


@functools.lru_cache(maxsize=2048)
def digit_picture(place: int) -> str:
    """A test image."""
    return picture(image(place), GRID, 1)


def wrong_images(found: Evaluation, most: int = EXAMPLES) -> list[Data]:
    """The first test images that are read wrong: place, digit, answer, src."""
    labels = mnist.images("test").labels
    return [
        {"place": place, "digit": int(labels[place]), "answer": int(found.answers[place]), "src": digit_picture(place)}
        for place in found.wrong[:most].tolist()
    ]


def confusion(found: Evaluation) -> Data:
    """rows: by digit, how often it is read as each; strength: of a mistake, its share of the most frequent one."""
    counts = found.confusion.tolist()
    mistakes = [count for digit, row in enumerate(counts) for answer, count in enumerate(row) if answer != digit]
    most = max(mistakes) or 1
    return {
        "rows": [
            {
                "digit": digit,
                "cells": [
                    {
                        "count": count,
                        "right": answer == digit,
                        "strength": round(0 if answer == digit else count / most, 3),
                    }
                    for answer, count in enumerate(row)
                ],
            }
            for digit, row in enumerate(counts)
        ]
    }


def spectrum_figure(found: Spectrum) -> Data:
    """A matrix' singular values between what 5 and 95 of 100 random ones stay below."""
    places = range(1, len(found.values) + 1)
    curves = [
        Curve("this matrix", places, found.values),
        Curve("random: 95 of 100 below", places, found.high),
        Curve("random: 5 of 100 below", places, found.low),
    ]
    return figure(curves, "singular value, from the largest", "size", even=True)


def fitting_figure(real: Fitting, random: Fitting) -> Data:
    """Accuracy on the training images by epoch, with their own labels and with random ones."""
    curves = [
        Curve(name, list(range(len(one.accuracies))), [100 * value for value in one.accuracies])
        for name, one in (("real labels", real), ("random labels", random))
    ]
    return figure(curves, "epoch", "accuracy on the training images, %")


def fitting_rows(real: Fitting, random: Fitting, epochs: Sequence[int]) -> list[Data]:
    return [
        {"epoch": epoch, "real": single(100 * real.accuracies[epoch]), "random": single(100 * random.accuracies[epoch])}
        for epoch in epochs
    ]
