"""One block, one step: a whole transformer's training step, followed at one word and at single cells.

The text is templates/lessons/one_block_one_step.html; here are its numbers: of the run shown (`run`), and of the step
taken again and again (`again`).
"""

from __future__ import annotations

import collections
import functools
import math
from typing import Any

from app.inline import cell_name
from app.lessons import Lesson, one_block_one_step_check
from app.numbers import single, text
from app.shown import cells, step_of, written
from engine.experiments.one_block_one_step import RATE, STEPS, losses
from engine.models.one_block_one_step import HEADS, WORDS
from engine.trace import Index, Trace

SLUG = "one_block_one_step"
LAST = 3  # the position that the text follows
LARGER = 0.1  # a rate that plain descent bears
STREAM = ("after_mlp", "after_attention", "x")
MATRIX, CELL = "W_U", (0, 0)
PARTS = ("first_moment", "second_moment", "denominator", "updated")


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """`run` of the run shown, at its last word; `again` of forty steps."""
    example: Index = (0,) if trace["tokens"].dim() == 2 else ()

    def own(tensor: str, *index: int) -> dict[str, Any]:
        return written(trace, tensor, (*example, *index), baseline=baseline)

    words = [WORDS[place] for place in trace["tokens"][example].tolist()]
    targets = [WORDS[place] for place in trace["target"][example].tolist()]
    head: Index = (*example, 0)
    return {
        "run": {
            "rows": trace["tokens"].shape[0] if example else 1,
            "words": words,
            "targets": targets,
            "word": words[LAST],
            "next": targets[LAST],
            "counts": _counts(trace),
            "steps": _steps(trace),
            "x": own("x", LAST, 0),
            "norm": [own("norm_1.mean", LAST, 0), own("norm_1.deviation", LAST, 0), own("norm_1.output", LAST, 0)],
            "query": written(trace, "queries", (*head, LAST, 0), baseline=baseline),
            "score": [
                written(trace, tensor, (*head, LAST, 1), baseline=baseline) for tensor in ("scores", "scaled_scores")
            ],
            "pattern": _pattern(trace, example, words),
            "mix": written(trace, "mix", (*head, LAST, 0), baseline=baseline),
            "after_attention": [own("attention", LAST, 0), own("after_attention", LAST, 0)],
            "mlp": [own("preactivation", LAST, 0), own("activation", LAST, 0), own("after_mlp", LAST, 0)],
            "guesses": _guesses(trace, example),
            "loss": written(trace, "loss", (), baseline=baseline),
            "uniform": single(math.log(len(WORDS))),
            "positions": trace["target"].numel(),
            "weight": written(trace, MATRIX, CELL, what="gradient"),
            "stream": _stream(trace, baseline),
            "update": _update(trace),
            "views": _views(trace, example),
        },
        "source": "Loshchilov and Hutter 2019",
        **_again(),
    }


def _steps(trace: Trace) -> dict[str, int]:
    found = collections.Counter(step.phase for step in trace.steps)
    return {"forward": found["forward"] + found["loss"], "backward": found["backward"], "update": found["update"]}


def _counts(trace: Trace) -> dict[str, Any]:
    """The parameters by what they are for, and how many numbers each group holds."""
    groups = {
        "embedding and positions": ("W_E", "W_P"),
        "three norms": tuple(f"norm_{place}.{part}" for place in (1, 2, 3) for part in ("gain", "bias")),
        "queries, keys, values, output of two heads": ("W_Q", "W_K", "W_V", "W_O"),
        "MLP": ("up.weight", "up.bias", "down.weight", "down.bias"),
        "unembedding": ("W_U",),
    }
    rows = [{"name": name, "size": sum(trace[one].numel() for one in names)} for name, names in groups.items()]
    return {"rows": rows, "total": sum(row["size"] for row in rows)}


def _pattern(trace: Trace, example: Index, words: list[str]) -> list[dict[str, Any]]:
    """The last word's row of each head's pattern, a row a word that is looked at."""
    heads = [cells(trace, "pattern", (*example, head, LAST)) for head in range(HEADS)]
    return [{"word": word, "cells": list(row)} for word, *row in zip(words, *heads, strict=True)]


def _guesses(trace: Trace, example: Index) -> list[dict[str, Any]]:
    """For the last word: each possible next word with its logit, its probability, and the logit's gradient."""
    place = (*example, LAST)
    chances = trace["prediction"][place].double().softmax(-1).tolist()
    right = int(trace["target"][place])
    logits, gradients = cells(trace, "prediction", place), cells(trace, "prediction.grad", place)
    return [
        {
            "word": word,
            "logit": logits[at],
            "chance": single(chances[at]),
            "right": at == right,
            "gradient": gradients[at]["value"],
        }
        for at, word in enumerate(WORDS)
    ]


def _stream(trace: Trace, baseline: Trace) -> list[dict[str, Any]]:
    """The size of the gradient on the stream, from the top down."""

    def size(run: Trace, name: str) -> float:
        return single(float(run[f"{name}.grad"].double().norm()))

    return [
        {"symbol": trace.record(name).symbol, "size": size(trace, name), "before": size(baseline, name)}
        for name in STREAM
    ]


def _update(trace: Trace) -> dict[str, Any]:
    """AdamW's parts for one cell, how far cells of small and large gradients move, and the loss after."""
    lines = [written(trace, "learning_rate.corrected"), *(written(trace, f"{MATRIX}.{part}", CELL) for part in PARTS)]
    gradients = trace[f"{MATRIX}.grad"]
    order = [int(place) for place in gradients.abs().flatten().argsort() if gradients.flatten()[int(place)]]
    places = [divmod(order[at], gradients.shape[1]) for at in (0, len(order) // 2, len(order) - 1)] if order else []
    return {
        "lines": lines,
        "rate": single(float(trace["learning_rate"])),
        "moves": [_move(trace, place) for place in places],
        "unread": _unread(trace),
        "loss": single(trace.result["after_update"]["loss"]),
        "updatable": trace.result["after_update"]["updatable"],
    }


def _move(trace: Trace, place: tuple[int, int]) -> dict[str, Any]:
    name = cell_name(MATRIX, place)
    before, after = (single(float(trace[one][place])) for one in (MATRIX, f"{MATRIX}.updated"))
    gradient = written(trace, MATRIX, place, what="gradient")
    return {
        "label": gradient["label"].removeprefix("∂L/∂"),
        "cell": name,
        "gradient": gradient["value"],
        "before": before,
        "after": after,
        "moved": single(float(trace[f"{MATRIX}.updated"][place].double() - trace[MATRIX][place].double())),
    }


def _unread(trace: Trace) -> dict[str, Any] | None:
    """The first word that the run did not read: its embedding has no gradient and only decays. None where all are."""
    read = set(trace["tokens"].flatten().tolist())
    row = next((place for place in range(len(WORDS)) if place not in read), None)
    if row is None:
        return None
    cell = next((at for at, value in enumerate(trace["W_E"][row].tolist()) if value), 0)
    update = trace.request["update"]
    factor = single(1 - update["learning_rate"] * update["weight_decay"])
    return {"word": WORDS[row], "factor": factor, "line": written(trace, "W_E.updated", (row, cell))}


def _views(trace: Trace, example: Index) -> dict[str, Any]:
    """Where the text points within the run shown, as State.link takes it."""

    def view(step: str, tensor: str, *index: int, **look: Any) -> dict[str, Any]:
        where = {"step": step_of(trace, step), "cell": cell_name(tensor, tuple(index)), "of": None, "prove": None}
        return {**where, **look}

    return {
        "start": view("x", "x", *example, LAST, 0),
        "pattern": view("pattern", "pattern", *example, 0, LAST, 0),
        "stream": view("after_attention", "after_attention", *example, LAST, 0),
        "neuron": view("activation", "activation", *example, LAST, 0),
        "loss": view("loss", "loss"),
        "logits": view("prediction.grad", "prediction", *example, LAST, 0, of="gradient"),
        "weight": view(f"{MATRIX}.grad", MATRIX, *CELL, of="gradient"),
        "bottom": view("x.grad", "x", *example, LAST, 0, of="gradient"),
        "moment": view(f"{MATRIX}.first_moment", f"{MATRIX}.first_moment", *CELL),
        "updated": view(f"{MATRIX}.updated", f"{MATRIX}.updated", *CELL),
    }


@functools.cache
def _again() -> dict[str, Any]:
    """The step taken again and again: `again`, the numbers, and `figures`, the chart of them."""
    found = {rule: losses(rule) for rule in ("AdamW", "SGD")}
    shown = range(0, STEPS + 1, STEPS // 8)
    again = {
        "rate": RATE,
        "steps": STEPS,
        "rows": [{"step": step, **{rule: single(values[step]) for rule, values in found.items()}} for step in shown],
        "last": {rule: single(values[-1]) for rule, values in found.items()},
        "larger": {"rate": LARGER, "last": single(losses("SGD", rate=LARGER)[-1])},
    }
    lines = [
        {
            "type": "scatter", "mode": "lines", "name": rule, "x": list(range(STEPS + 1)),
            "y": [single(value) for value in values], "line": {"color": colour, "dash": dash, "width": 2.25},
            "hovertemplate": f"{rule}<br>step %{{x}}: loss %{{y:.3g}}<extra></extra>",
        }
        for (rule, values), colour, dash in zip(
            found.items(), ("var(--pos)", "var(--neg)"), ("solid", "dash"), strict=True
        )
    ]  # fmt: skip
    heights = (0, 0.5, 1, 1.5, 2, 2.5)
    layout = {
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "dragmode": False, "hovermode": "closest", "height": 300, "margin": {"l": 56, "r": 12, "t": 12, "b": 44},
        "xaxis": {
            "title": {"text": "step"}, "fixedrange": True, "showgrid": False, "zeroline": False,
            "tickmode": "array", "tickvals": list(shown), "ticktext": [text(step) for step in shown],
        },
        "yaxis": {
            "title": {"text": "loss"}, "fixedrange": True, "zeroline": False, "rangemode": "tozero",
            "tickmode": "array", "tickvals": list(heights), "ticktext": [text(tick) for tick in heights],
        },
    }  # fmt: skip
    return {"again": again, "figures": {"again": {"data": lines, "layout": layout}}}


def exercises(seed: int) -> tuple[Any, ...]:
    """The check, in the variant of the seed."""
    return one_block_one_step_check.exercises(seed)


LESSON = Lesson(
    slug=SLUG,
    title="One block, one training step",
    part="The transformer, part by part",
    order=19,
    summary="Four words through a whole transformer block, the loss, the way back, and AdamW's update: a full "
    "training step, every cell of it.",
    model="one_block_one_step",
    request={"update": {"rule": "adamw", "learning_rate": RATE, "frozen": []}},
    prose=prose,
    exercises=exercises,
)
