"""Cost and descent: one rule, in one dimension, two, 13 and 13,002; its rate, its batches, momentum and Adam.

The text is templates/lessons/cost_and_descent.html; here are its numbers: of the run shown (`run`), of measurements
that the text names, and, in the lab, of the descents from a start of the reader's choice.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from app.lessons import Lesson, Setting, cost_and_descent_check
from app.lessons import cost_and_descent_figures as figures
from app.lessons.attention_tables import Data, view
from app.numbers import single
from app.shown import shown, step_of, written
from engine.experiments import cost_and_descent as measured
from engine.models import catalogue
from engine.models.cost_and_descent import BIAS, POINTS, WEIGHT
from engine.trace import Trace

SLUG = "cost_and_descent"
LINE_RATES = (("too small", 0.02), ("right", 0.2), ("too large", 0.47))
LINE_START, LINE_STEPS = -1.0, 8
NAMED_RATES = (0.02, 0.1, 0.38, 0.4)
TINY_RATES = (0.1, 0.05, 0.02, 0.01)
DIGIT_RATES = (0.1, 1.0, 3.0, 10.0, 30.0)
RULES = {"sgd": "gradient descent", "momentum": "momentum 0.9", "adam": "Adam"}
BATCHES = {"1": "1 of 8", "2": "2 of 8", "4": "4 of 8", "8": "all 8"}
SOURCES = {
    "rule": "Cauchy 1847",
    "minibatch": "Robbins and Monro 1951",
    "momentum": "Polyak 1964",
    "adam": "Kingma and Ba 2015",
    "slice": "Li et al. 2018",
}


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text; lines are the first example's."""
    lead = (0,) if trace["x"].dim() == 2 else ()
    updated = "line.weight.updated" in trace.tensors

    def own(tensor: str, *index: int, what: Any = "value") -> Data:
        return written(trace, tensor, index, what=what, baseline=baseline)

    return {
        "run": {
            "rows": trace["x"].shape[0] if lead else 1,
            "prediction": own("prediction", *lead, 0),
            "loss": own("loss"),
            "update": [own("line.weight.updated", 0, 0), own("line.bias.updated", 0)] if updated else [],
            "after": single(trace.result["after_update"]["loss"]) if updated else None,
            "views": {
                "gradient": _gradient_view(trace),
                "update": view(trace, "line.weight.updated", (0, 0)) if updated else None,
            },
        },
        "points": [{"x": x, "y": y} for x, y in POINTS],
        "sources": SOURCES,
        **_named(),
    }


def _gradient_view(trace: Trace) -> Data | None:
    if "line.weight.grad" not in trace.tensors:
        return None
    return {"step": step_of(trace, "line.weight.grad"), "cell": "line.weight[0,0]", "of": "gradient", "prove": None}


@functools.cache
def _named() -> Mapping[str, Any]:
    w, b, loss = measured.least()
    along, low, high = measured.curvatures()
    whole = shown(SLUG, rows=len(POINTS))
    return {
        "least": {"w": w, "b": b, "loss": loss},
        "curvature": {"along": along, "low": low, "high": high, "limit": 2 / high, "ratio": high / low},
        "all": {
            "link": whole.link("line.weight.updated"),
            "rows": len(POINTS),
            "step": step_of(whole.trace, "line.weight.updated"),
            "loss": whole.loss,
        },
        "rates": list(NAMED_RATES),
        "one": _one_dimension(b, along),
        "tiny": _tiny(),
        "digits": _digits(),
    }


def _one_dimension(b: float, along: float) -> Data:
    """Three rates on the weight alone, from w = -1, with the bias where it is best."""
    walks = [
        (f"{name}: {rate}", measured.walk("sgd", rate, (LINE_START, b), steps=LINE_STEPS, weight_only=True), LINE_STEPS)
        for name, rate in LINE_RATES
    ]
    return {
        "limit": 2 / along,
        "steps": LINE_STEPS,
        "rows": [
            {
                "name": name, "rate": rate, "factor": 1 - rate * along,
                "places": [single(at[0]) for at in one.places[:4]], "loss": single(one.losses[LINE_STEPS]),
            }
            for (name, rate), (_, one, _) in zip(LINE_RATES, walks, strict=True)
        ],
        "figure": figures.on_curve(b, walks),
    }  # fmt: skip


def _tiny() -> Data:
    """One step on the tiny network's 13 parameters, by its rate."""
    rates = tuple(place / 500 for place in range(61))
    curve = measured.tiny_losses(rates)
    start = single(catalogue()["tiny_network"].trace({}).result["loss"])
    return {
        "start": start,
        "rows": [
            {
                "rate": rate, "loss": single(loss),
                "link": shown("accountable_network", lr=rate, frozen=()).link("loss"),
            }
            for rate, loss in zip(TINY_RATES, measured.tiny_losses(TINY_RATES), strict=True)
        ],
        "figure": figures.by_rate(rates, [single(one) for one in curve], start),
    }  # fmt: skip


def _digits() -> Data:
    """One step on the untrained digit network's 13,002 parameters, by its rate."""
    rates = tuple(place / 2 for place in range(61))
    curve = measured.digit_losses(rates)
    return {
        "images": measured.IMAGES,
        "parameters": sum(one.numel() for one in catalogue()["digit_network"].module().parameters()),
        "start": single(curve[0]),
        "rows": [
            {"rate": rate, "loss": single(loss)}
            for rate, loss in zip(DIGIT_RATES, measured.digit_losses(DIGIT_RATES), strict=True)
        ],
        "figure": figures.by_rate(rates, [single(one) for one in curve], single(curve[0])),
    }


def lab(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The descents that are asked for, so many steps of them, and a slice of the digit network's loss."""
    rule, rate, batch, taken = str(values["rule"]), float(values["rate"]), int(values["batch"]), int(values["taken"])
    start = float(values["w"]), float(values["b"])
    careful = measured.walk(rule, rate, start)
    drunk = measured.walk(rule, rate, start, batch, int(values["order"]))
    walks = [("all 8 a step", careful, taken)]
    if batch < measured.ALL:
        walks.append((f"{batch} a step", drunk, taken))
    return {
        "taken": taken,
        "back": max(0, taken - 1),
        "on": {one: min(measured.LONGEST, taken + one) for one in (1, 10)},
        "last": measured.LONGEST,
        "order": int(values["order"]),
        "next_order": int(values["order"]) % MOST_ORDERS + 1,
        "rate": rate,
        "rule": RULES[rule],
        "start": {"w": start[0], "b": start[1]},
        "walks": [_walk(name, one, taken) for name, one, _ in walks],
        "rows": figures.rows([one for _, one, _ in walks], taken),
        "contour": figures.contour([(name, one.places[: taken + 1]) for name, one, _ in walks]),
        "surface": figures.surface(walks),
        "by_cost": figures.by_cost(walks),
        "rules": _rules(rate, start, taken),
        "slice": _slice(int(values["slice"])),
    }


def _walk(name: str, one: measured.Walk, taken: int) -> Data:
    """Where a descent is after so many steps, and what it cost; cost is examples whose gradient was computed."""
    here = min(taken, len(one.losses) - 1)
    near = one.arrival
    return {
        "name": name, "batch": one.batch, "steps": here, "cost": here * one.batch,
        "w": single(one.places[here][0]), "b": single(one.places[here][1]), "loss": single(one.losses[here]),
        "diverged": len(one.losses) if one.diverged and taken >= len(one.losses) else None,
        "near": near, "near_cost": None if near is None else near * one.batch,
    }  # fmt: skip


def _rules(rate: float, start: tuple[float, float], taken: int) -> Data:
    """All three rules from one start, on all points."""
    walks = [(words, measured.walk(rule, rate, start), taken) for rule, words in RULES.items()]
    return {
        "walks": [_walk(name, one, taken) for name, one, _ in walks],
        "contour": figures.contour([(name, one.places[: taken + 1]) for name, one, _ in walks]),
        "by_step": figures.by_step(walks),
    }


def _slice(seed: int) -> Data:
    found = measured.loss_slice(seed)
    middle = len(found.along) // 2
    corners = [found.losses[row][column] for row in (0, -1) for column in (0, -1)]
    return {
        "seed": seed,
        "next": seed % MOST_ORDERS + 1,
        "points": len(found.along) ** 2,
        "here": single(found.losses[middle][middle]),
        "corner": single(max(corners)),
        "steps": measured.SLICE_STEPS,
        "rate": measured.SLICE_RATE,
        "from": single(found.path[0]),
        "to": single(found.path[-1]),
        "shadow": [single(one) for one in found.places[-1]],
        "outside": found.outside,
        "figure": figures.sliced(seed),
    }


def exercises(seed: int) -> tuple[Any, ...]:
    """The check, in the variant of the seed."""
    return cost_and_descent_check.exercises(seed)


MOST_ORDERS = 1000

LESSON = Lesson(
    slug=SLUG,
    title="Cost and descent: one rule, in any dimension",
    part="Learning",
    order=22,
    summary="Step against the slope, again and again: on a curve, a surface, 13 parameters and 13,002. How long a step "
    "may be, what a glance at one example costs and saves, and what momentum and Adam add.",
    model=SLUG,
    request={"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}},
    examples=tuple({"x": x, "target": y} for x, y in POINTS[1:]),
    script="cost_and_descent.js",
    prose=prose,
    exercises=exercises,
    settings=(
        Setting("rate", "Learning rate", 0.1, least=0, limit=10),
        Setting("rule", "Rule", "sgd", choices=RULES),
        Setting("batch", "Examples a step", "1", choices=BATCHES),
        Setting("taken", "Steps taken", 40, least=0, limit=measured.LONGEST, whole=True),
        Setting("w", "start w", WEIGHT, least=figures.W_RANGE[0], limit=figures.W_RANGE[1]),
        Setting("b", "start b", BIAS, least=figures.B_RANGE[0], limit=figures.B_RANGE[1]),
        Setting("order", "Order of examples", 1, least=1, limit=MOST_ORDERS, whole=True),
        Setting("slice", "Slice", 1, least=1, limit=MOST_ORDERS, whole=True),
    ),
    lab=lab,
)  # fmt: skip
