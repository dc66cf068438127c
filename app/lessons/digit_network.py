"""The digit network: what it looks at, what it computes, what an image asks of its weights, and how far to trust it.

The text is templates/lessons/digit_network.html; here are its numbers: of the run shown (`run`), of its weights on all
test images (`read`), of its second layer beside random matrices (`spectrum`), and of the four shipped networks.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from app import whole
from app.lessons import Lesson, digit_network_check
from app.lessons.attention_tables import cell, first, row, view
from app.lessons.digit_network_figures import (
    GRID,
    Data,
    confusion,
    fitting_figure,
    fitting_rows,
    spectrum_figure,
    weight_pictures,
    wrong_images,
)
from app.lessons.digit_network_training import TRAINING
from app.numbers import single
from app.picture import picture
from app.shown import shown
from engine.data import mnist
from engine.experiments import digit_network as measured
from engine.models import catalogue
from engine.models.digit_images import image, place_of
from engine.models.digit_network import DigitNetwork
from engine.trace import Index, Trace

SLUG = "digit_network"
DOUBTED = 61  # a test image that it reads right and is not sure of
LAYER = "hidden2"
STRONGEST = 8
EPOCHS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 400)
RANDOM = 1000
SOURCES = {
    "network": "Nielsen 2015", "spectrum": "Marchenko and Pastur 1967", "labels": "Zhang et al. 2017",
    "walk": "Sanderson 2017", "data": "LeCun et al. 1998",
}  # fmt: skip


def prose(trace: Trace, baseline: Trace) -> Data:
    """The numbers of the text; with several images those of the first."""
    lead = first(trace, "x")
    options = trace.request["options"]
    network = _packed(trace)
    return {
        "run": {
            "rows": trace["x"].shape[0] if lead else 1,
            "place": place_of(trace["x"][lead].tolist()),
            "options": options,
            "outputs": _outputs(trace, lead, baseline),
            "target": int(trace["target"].reshape(-1)[0]),
            "loss": cell(trace, "loss", (), baseline),
            "raise": _ways(trace, lead),
            "asks": _asks(trace, lead),
            "weights": weight_pictures(trace["hidden1.weight"].numpy()),
            "second": picture(trace["hidden2.weight"].numpy(), (16, 16)),
            "views": {
                "bias": view(trace, "output.bias.grad"),
                "asked": view(trace, f"{LAYER}.activation.grad"),
            },
        },
        "read": _read(network, options["activation"], options["loss"]),
        "spectrum": _spectrum(network),
        **_named(),
    }


def _outputs(trace: Trace, lead: Index, baseline: Trace) -> Data:
    """The ten outputs from 0 to 1, and the two largest of them."""
    name = "probability" if "probability" in trace.tensors else "prediction"
    cells = row(trace, name, lead, baseline)
    order = sorted(range(len(cells)), key=lambda digit: -cells[digit]["value"])
    return {"cells": cells, "first": order[0], "second": order[1], "kind": name}


def _ways(trace: Trace, lead: Index) -> Data | None:
    """Three ways to raise the target's output, read off its gradients: the bias, each weight, each activation below.

    Rows by how active the unit below is: {unit, activation, weight_gradient, weight, asks}. None without gradients, and
    with several images, whose gradients add up.
    """
    if lead or "output.preactivation.grad" not in trace.tensors:
        return None
    target = int(trace["target"][0])
    sent = float(trace["output.preactivation.grad"][target])
    active = trace[f"{LAYER}.activation"].tolist()
    order = sorted(range(len(active)), key=lambda unit: -abs(active[unit]))
    return {
        "digit": target,
        "arriving": cell(trace, "output.preactivation.grad", (target,)),
        "bias": cell(trace, "output.bias.grad", (target,)),
        "rows": [
            {
                "unit": unit + 1,
                "activation": cell(trace, f"{LAYER}.activation", (unit,)),
                "weight_gradient": cell(trace, "output.weight.grad", (target, unit)),
                "weight": cell(trace, "output.weight", (target, unit)),
                "asks": single(sent * float(trace["output.weight"][target, unit])),
            }
            for unit in order[:STRONGEST]
        ],
        "silent": sum(one == 0 for one in active),
    }


def _asks(trace: Trace, lead: Index) -> Data | None:
    """What each output asks of each unit below, its gradient times its weight, and the gradient that the unit gets."""
    if lead or "output.preactivation.grad" not in trace.tensors:
        return None
    sent = trace["output.preactivation.grad"].double().numpy()
    asks = sent[:, None] * trace["output.weight"].double().numpy()
    units = range(asks.shape[1])
    gets = [cell(trace, f"{LAYER}.activation.grad", (unit,)) for unit in units]
    largest = float(np.abs(asks).max(initial=0.0)) or 1.0
    chosen = max(units, key=lambda unit: abs(gets[unit]["value"]))
    rows = [
        {
            "unit": unit + 1,
            "cells": [_ask(single(float(asks[digit, unit])), largest) for digit in range(len(sent))],
            "gets": gets[unit],
        }
        for unit in units
    ]
    loudest = max(range(len(sent)), key=lambda digit: abs(asks[digit, chosen]))
    return {"rows": rows, "chosen": rows[chosen], "loudest": loudest}


def _ask(value: float, largest: float) -> Data:
    return {"value": value, "strength": round(abs(value) / largest, 3)}


Packed = tuple[tuple[str, tuple[int, ...], bytes], ...]


def _packed(trace: Trace) -> Packed:
    """The run's parameters as something that can be compared and kept."""
    names = [name for name, record in trace.tensors.items() if record.kind == "parameter" and "." in name]
    names = [name for name in names if not name.endswith(".updated")]
    return tuple((name, tuple(trace[name].shape), trace[name].numpy().tobytes()) for name in names)


def _unpacked(network: Packed) -> dict[str, np.ndarray]:
    return {name: np.frombuffer(raw, np.float32).reshape(shape).copy() for name, shape, raw in network}


@functools.lru_cache(maxsize=16)
def _read(network: Packed, activation: str, loss: str) -> Data:
    """The run's weights on the 10,000 test images, and on noise."""
    built = measured.network_of(_unpacked(network), activation, loss)
    found = measured.evaluate(built, mnist.images("test"))
    wrong = wrong_images(found)
    sure = measured.certainty(built, mnist.images("test"), [one["place"] for one in wrong])
    for one, share in zip(wrong, sure, strict=True):
        one["sure"] = single(100 * share)
    return {
        "images": len(found.answers),
        "accuracy": single(100 * found.accuracy),
        "wrong": len(found.wrong),
        "confusion": confusion(found),
        "examples": wrong,
    }


@functools.lru_cache(maxsize=16)
def _spectrum(network: Packed) -> Data:
    """The second and the first layer's singular values beside those of random matrices."""
    weights = _unpacked(network)
    second, one = (measured.spectrum_of(weights[f"{name}.weight"]) for name in (LAYER, "hidden1"))
    return {
        "outside": second.outside,
        "count": len(second.values),
        "first": {"outside": one.outside, "count": len(one.values)},
        "expected": single(0.1 * len(second.values)),
        "figure": spectrum_figure(second),
        "rows": [
            {"place": place, "value": single(value), "low": single(low), "high": single(high)}
            for place, (value, low, high) in enumerate(zip(second.values, second.low, second.high, strict=True), 1)
        ],
    }  # fmt: skip


@functools.cache
def _named() -> Mapping[str, Any]:
    real, random = measured.shipped_fittings()[False], measured.shipped_fittings()[True]
    return {
        "sources": SOURCES,
        "layers": _layers(),
        "shipped": [_shipped(activation, loss) for activation in ("relu", "sigmoid") for loss in _LOSSES],
        "noise": _noise(),
        "labels": {
            "images": RANDOM,
            "epochs": len(real.accuracies) - 1,
            "figure": fitting_figure(real, random),
            "rows": fitting_rows(real, random, EPOCHS),
            "test": {"real": single(100 * real.test), "random": single(100 * random.test)},
            "end": {"real": single(100 * real.accuracies[-1]), "random": single(100 * random.accuracies[-1])},
            "settings": {"labels": "random", "images": RANDOM, "rule": "adam", "epochs": 200},
        },
        "options": {"activation": dict(_options("activation")), "loss": dict(_options("loss"))},
    }


_LOSSES = ("cross_entropy", "squared_error")


def _options(name: str) -> Mapping[str, str]:
    return next(option.values for option in catalogue()[SLUG].options if option.name == name)


def _layers() -> Data:
    """The parameters, counted by layer."""
    from_to = [("hidden1", mnist.PIXELS, 16), ("hidden2", 16, 16), ("output", 16, 10)]
    parameters = dict(catalogue()[SLUG].module().named_parameters())
    rows = [
        {
            "inputs": inputs, "units": units,
            "weights": parameters[f"{name}.weight"].numel(), "biases": parameters[f"{name}.bias"].numel(),
            "sum": parameters[f"{name}.weight"].numel() + parameters[f"{name}.bias"].numel(),
        }
        for name, inputs, units in from_to
    ]  # fmt: skip
    return {"rows": rows, "total": sum(one["sum"] for one in rows), "pixels": mnist.PIXELS}


def _shipped(activation: str, loss: str) -> Data:
    """One of the four networks that are shipped: how many test images it reads right, and what it says of noise."""
    options = {"activation": activation, "loss": loss}
    network = DigitNetwork(activation, loss, "trained")
    noise = measured.noise(network)
    return {
        "activation": _options("activation")[activation],
        "loss": _options("loss")[loss],
        "options": options,
        "accuracy": single(100 * measured.evaluate(network, mnist.images("test")).accuracy),
        "noise": {"sure": single(noise.mean_top), "digit": noise.most_common, "times": max(noise.answers)},
    }


def _noise() -> Data:
    """How many images of noise, one of them, and what an untrained network says of them."""
    one = [single(value) for value in measured.noisy(1)[0].tolist()]
    run = shown(SLUG, set={"x": whole.code(one)})
    untrained = measured.noise(DigitNetwork())
    shares = run.trace["probability"].tolist()
    answer = max(range(len(shares)), key=shares.__getitem__)
    return {
        "images": sum(untrained.answers),
        "src": picture(one, GRID, 1),
        "link": run.link("probability", cell=f"probability[{answer}]"),
        "answer": answer,
        "sure": single(shares[answer]),
        "untrained": single(untrained.mean_top),
    }


LESSON = Lesson(
    slug=SLUG,
    title="A network that reads digits",
    part="Learning",
    order=25,
    summary="Draw a digit and see every activation; what an image asks of 13,002 weights; train it live, and see what "
    "it takes for a digit.",
    model=SLUG,
    request={"inputs": {"x": list(image(DOUBTED))}, "target": "8", "update": {"rule": "sgd", "learning_rate": 0.1}},
    examples=({"x": image(0), "target": "7"}, {"x": image(1), "target": "2"}),
    prose=prose,
    exercises=digit_network_check.exercises,
    training=TRAINING,
)
