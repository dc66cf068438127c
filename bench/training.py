"""What watched training costs: one pass over MNIST, in the engine and on the site, against a bare PyTorch loop."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.nn import functional as F

from bench.row import Row
from bench.timing import ratio, resting_site
from engine.data import mnist
from engine.training.digits import DigitTraining
from engine.training.recipe import RATES
from engine.training.training import prepare

BATCH_SIZE, STEPS, ROUNDS = 100, 600, 7
THEIRS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=RATES["sgd"]),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=RATES["momentum"], momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=RATES["adam"]),
}


def measure() -> Iterator[Row]:
    """A ratio for each optimiser, and how long the first pass takes until the test images are read."""
    torch.set_num_threads(1)
    images = mnist.images("train")
    x, labels = images.numbers(), images.labels
    for optimiser, make in THEIRS.items():
        yield ratio(
            f"digits, {optimiser}: one pass with progress / a bare loop",
            lambda optimiser=optimiser: _watched(optimiser),
            lambda make=make: _bare(x, labels, make),
            at_most=1.5,
            rounds=ROUNDS,
        )
    with resting_site() as address:
        times = [
            (_streamed_s(address.removeprefix("http://")), _seconds(lambda: _bare(x, labels, THEIRS["sgd"])))
            for _ in range(ROUNDS)
        ]
    served_s, bare_s = (statistics.median(column) for column in zip(*times, strict=True))
    detail = f"{served_s * 1000:.3g} ms / {bare_s * 1000:.3g} ms"
    what = "digits, sgd: one pass on the site, watched / a bare loop"
    yield Row(what, served_s / bare_s, "x", at_most=1.5, detail=detail)
    start = time.perf_counter()
    reached = _watched("sgd")
    detail = f"{reached:.2%} of the test images"
    yield Row("digits: from scratch through one pass", time.perf_counter() - start, "s", at_most=5, detail=detail)


def _watched(optimiser: str) -> float:
    """One pass; returns the share of the test images that are read right after it."""
    training = prepare("digit_network", {}, steps=STEPS, recipe={"optimiser": optimiser, "batch_size": BATCH_SIZE})
    assert isinstance(training, DigitTraining)
    *_, last = training
    return last.test_accuracy


def _streamed_s(host: str) -> float:
    """One pass in a worker of the site, from its first line of progress to its last, all lines read."""
    connection = http.client.HTTPConnection(host)
    body = json.dumps({"steps": STEPS, "recipe": {"batch_size": BATCH_SIZE}})
    connection.request("POST", "/api/v1/models/digit_network/train", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"expected status 200; got {response.status}: {response.read()[:400]!r}")
    while b'"step":0' not in response.readline():
        pass
    start = time.perf_counter()
    response.read()
    connection.close()
    return time.perf_counter() - start


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _bare(x: torch.Tensor, labels: torch.Tensor, make: Callable[..., torch.optim.Optimizer]) -> None:
    """One pass of the loop that one writes in PyTorch, which says nothing. x: all images, in floats already."""
    module = nn.Sequential(nn.Linear(784, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10))
    optimiser = make(module.parameters())
    for batch in torch.randperm(len(labels)).split(BATCH_SIZE):
        loss = F.cross_entropy(module(x[batch]), labels[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
