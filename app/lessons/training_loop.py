"""The training loop: forward, backward, update, again; what it keeps in memory and how much it computes.

The text is templates/lessons/training_loop.html; here are its numbers: counted from the run shown (`run`) and from one
step of three networks (`networks`), and, in the lab, a network, a batch and a number of steps of the reader's choice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from app.lessons import Lesson, Setting, training_loop_check
from app.lessons.attention_tables import Data
from app.lessons.training_loop_figures import loss_figure, memory_figure
from app.numbers import single
from app.shown import step_of
from engine.experiments.training_cost import Flops, backward_flops, best_cut, countable, flops, kept, moments, peak
from engine.experiments.training_loop import MOST_EXAMPLES, MOST_STEPS, NETWORKS, accumulated, losses, step
from engine.models import catalogue
from engine.trace import Trace

SLUG = "training_loop"
NUMBER_BYTES = 4  # of float32
TITLES = {
    "tiny_network": "the tiny network",
    "digit_network": "the digit network",
    "one_block_one_step": "the transformer block",
}
NAMES = {"tiny_network": "tiny", "digit_network": "digits", "one_block_one_step": "block"}
TOKENS = {"one_block_one_step": 4}  # how many tokens an example has, where it is a sentence
SOURCES = {
    "backward": "Rumelhart, Hinton and Williams 1986",
    "rule": "Kaplan et al. 2020",
    "adamw": "Loshchilov and Hutter 2019",
    "again": "Chen et al. 2016",
}


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text."""
    counted = countable(trace)
    after = trace.result["after_update"]
    return {
        "run": {
            "rows": trace["x"].shape[0] if trace["x"].dim() == 2 else 1,
            "parameters": trace.model["parameter_count"],
            "phases": _phases(trace),
            "loss": single(trace.result["loss"]),
            "before": single(baseline.result["loss"]),
            "after": single(after["loss"]),
            "rate": single(float(trace["learning_rate"])),
            "memory": _memory(trace) if counted else None,
            "flops": _flops(trace) if counted else None,
            "views": {
                "loss": {"step": step_of(trace, "loss"), "cell": "loss", "of": None, "prove": None},
                "backward": {"step": step_of(trace, "prediction.grad"), "cell": None, "prove": None},
                "update": {"step": len(trace.steps) - 1, "cell": None, "of": None, "prove": None},
            },
        },
        "number_bytes": NUMBER_BYTES,
        "sources": SOURCES,
        "networks": _networks(),
    }


def _phases(trace: Trace) -> list[Data]:
    """Each phase with the number of its steps, the loss as part of forward."""
    phases = ["forward" if one.phase == "loss" else one.phase for one in trace.steps]
    return [{"name": name, "steps": len(list(group))} for name, group in groupby(phases)]


def _memory(trace: Trace) -> Data:
    """Step by step what lies in memory; and what is kept for the way back."""
    held, after = kept(trace), moments(trace)
    rows = [
        {
            "number": one.index + 1,
            "phase": one.phase,
            "symbol": one.symbol,
            "kept": moment.kept,
            "passing": moment.passing,
            "gradients": moment.gradients,
            "total": moment.total,
        }
        for one, moment in zip(trace.steps, after, strict=True)
    ]
    return {
        "tensors": [
            {
                "symbol": trace.record(one.tensor).symbol,
                "bytes": one.size_bytes,
                "numbers": trace[one.tensor].numel(),
                "made": one.made + 1 if one.made >= 0 else None,
                "read": one.read + 1,
            }
            for one in held
        ],
        "rows": rows,
        "peak": peak(trace),
        "most": max(moment.total for moment in after),
        "figure": memory_figure(trace),
    }


def _flops(trace: Trace) -> Data:
    """Forward steps with what they and the steps that undo them compute, and the sums."""
    back: dict[int, list[int]] = {}
    for one in trace.steps:
        if one.phase == "backward" and one.forward is not None:
            ahead = trace.steps[one.forward]
            back[one.forward] = [backward_flops(trace, ahead, sent.role) for sent in one.sends]
    rows = [
        {
            "symbol": one.symbol,
            "forward": one.flops,
            "parts": back.get(one.index, []),
            "backward": sum(back.get(one.index, [])),
        }
        for one in trace.steps
        if one.phase in ("forward", "loss")
    ]
    examples = trace["x"].shape[0] if trace["x"].dim() == 2 else 1
    return {"rows": rows, **_counts(flops(trace), examples)}


def _counts(found: Flops, tokens: int) -> Data:
    """The sums of a step, and what they are for a weight that multiplies and an example (or token)."""
    ahead, back = found.products
    share = found.weights * tokens
    return {
        "forward": found.forward,
        "backward": found.backward,
        "update": found.update,
        "weights": found.weights,
        "products": {"forward": ahead, "backward": back, "spared": found.spared, "needed": back - found.spared},
        "each": {
            "forward": ahead / share, "backward": back / share, "needed": (back - found.spared) / share,
        },
    }  # fmt: skip


@functools.cache
def _networks() -> list[Data]:
    """One step of each network on one example."""
    found = []
    for network in NETWORKS:
        trace = step(network, 1)
        tokens = TOKENS.get(network, 1)
        parameters = trace.model["parameter_count"]
        found.append(
            {
                "name": NAMES[network],
                "title": TITLES[network],
                "parameters": parameters,
                "tokens": tokens,
                **_counts(flops(trace), tokens),
                "rule": {"forward": 2 * parameters * tokens, "backward": 4 * parameters * tokens},
                "memory": {
                    "parameters": NUMBER_BYTES * parameters,
                    "gradients": moments(trace)[-1].gradients,
                    "moments": 2 * NUMBER_BYTES * parameters,
                    "kept": peak(trace),
                },
            }
        )
    return found


@functools.lru_cache(maxsize=64)
def _chosen(network: str, examples: int) -> Mapping[str, Any]:
    """A network's step over a batch: its memory, and two ways to need less of it."""
    trace, single_example = step(network, examples), step(network, 1)
    cut, most, found = best_cut(trace), peak(trace), flops(trace)
    return {
        "name": TITLES[network],
        "network": network,
        "examples": examples,
        "steps_of_it": len(trace.steps),
        "peak": most,
        "one": peak(single_example),
        "total": max(moment.total for moment in moments(trace)),
        "whole": found.forward + found.backward,
        "accumulated": {"apart": accumulated(network, examples), "peak": peak(single_example)},
        "cut": {
            "helps": cut.peak < most,
            "after": trace.record(cut.after).symbol,
            "peak": cut.peak,
            "share": cut.peak / most,
            "again": cut.again,
            "more": cut.again / (found.forward + found.backward),
        },
        "figure": memory_figure(trace),
    }


def lab(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """One step of the chosen network over the chosen batch, and the loop."""
    network, examples, steps = str(values["network"]), int(values["batch"]), int(values["steps"])
    rate = float(values["rate"])
    found = losses(network, examples, steps, rate)
    broken = next((place for place, loss in enumerate(found) if not math.isfinite(loss)), None)
    chosen = _chosen(network, examples)
    return {
        **chosen,
        "loop": {
            "steps": steps,
            "rate": rate,
            "first": single(found[0]),
            "last": None if broken is not None else single(found[-1]),
            "broken": broken,
            "rows": [{"step": place, "loss": single(found[place])} for place in _some(found[:broken])],
            "flops": steps * chosen["whole"],
            "figure": loss_figure(found[:broken]),
        },
    }


def _some(values: Sequence[float]) -> list[int]:
    """About eight places, the first and the last among them."""
    every = max(1, math.ceil((len(values) - 1) / 7))
    places = list(range(0, len(values), every))
    return places if not places or places[-1] == len(values) - 1 else [*places, len(values) - 1]


def exercises(seed: int) -> tuple[Any, ...]:
    """The check, in the variant of the seed."""
    return training_loop_check.exercises(seed)


LESSON = Lesson(
    slug=SLUG,
    title="The training loop",
    part="Learning",
    order=26,
    summary="Forward, backward, update, again: what each step keeps in memory and computes, counted from the run, and "
    "the rules of thumb beside it.",
    model="tiny_network",
    request={"update": {"rule": "sgd", "learning_rate": 0.02, "frozen": []}},
    examples=({"x": [0, 1], "target": 1}, {"x": [1, 1], "target": 3}, {"x": [-1, 2], "target": -2}),
    prose=prose,
    exercises=exercises,
    settings=(
        Setting(
            "network", "network", "one_block_one_step", choices={name: catalogue()[name].title for name in NETWORKS}
        ),
        Setting("batch", "examples", 8, least=1, limit=MOST_EXAMPLES, whole=True),
        Setting("steps", "steps", 40, least=1, limit=MOST_STEPS, whole=True),
        Setting("rate", "learning rate", 0.1, least=0, limit=100),
    ),
    lab=lab,
)
