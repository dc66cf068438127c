"""A network you can account for: the 2-3-1 network, every number of a run, one update, and what an edit shows.

The text is templates/lessons/accountable_network.html; here are its numbers. They belong to the run shown, or to runs
that the text names ("for x = (2, −1), unedited").
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from app.inline import cell_name
from app.lessons import Lesson, accountable_network_check
from app.lessons.accountable_network_training import EXAMPLES, TRAINING, repeated
from app.numbers import single
from app.shown import Shown, cells, shown, step_of, written
from engine.collapse import collapse
from engine.paths import paths
from engine.trace import Index, Trace

SLUG = "accountable_network"
UNITS = 3
RATES = (0.1, 0.05, 0.02, 0.01)
ALL_BUT_V1 = ["hidden.weight", "hidden.bias", "readout.bias", "readout.weight[0,1]", "readout.weight[0,2]"]
PARAMETERS = {"hidden.weight": "W", "hidden.bias": "b", "readout.weight": "v", "readout.bias": "c"}


def prose(trace: Trace, baseline: Trace) -> dict[str, Any]:
    """The numbers of the text: `run` of the run shown, `one` of its collapse into one layer, the rest of named runs."""
    rows = trace["x"].shape[0] if trace["x"].dim() == 2 else 1
    example: Index = (0,) if trace["x"].dim() == 2 else ()

    def own(tensor: str, index: Index = ()) -> dict[str, Any]:
        return written(trace, tensor, index, baseline=baseline)

    return {
        "counts": _counts(trace),
        "run": {
            "rows": rows,
            "x": cells(trace, "x", example),
            "target": cells(trace, "target", example)[0],
            "units": [
                {
                    "name": f"unit {unit + 1}",
                    "sum": own("hidden.preactivation", (*example, unit)),
                    "sends": own("hidden.activation", (*example, unit)),
                    "state": _state(trace, example, unit),
                }
                for unit in range(UNITS)
            ],
            "on": _names(trace, example, "on"),
            "silent": _names(trace, example, "silent"),
            "held": _names(trace, example, "held"),
            "rectified": any(step.op == "relu" for step in trace.steps),
            "prediction": own("prediction", (*example, 0)),
            "error": own("squared_error"),
            "loss": own("loss"),
            "arriving": own("prediction.grad", (*example, 0)),
            "paths": _paths(trace, "x", (*example, 0)),
            "update": own("readout.weight.updated", (0, 0)) if "readout.weight.updated" in trace.tensors else None,
            "after": single(trace.result["after_update"]["loss"]) if trace.result.get("after_update") else None,
            "views": _views(trace, example),
        },
        "one": _collapsed(trace, example),
        **_named(),
    }


def _counts(trace: Trace) -> dict[str, Any]:
    """How many numbers each parameter holds, and all of them."""
    sizes = [{"symbol": symbol, "size": trace[name].numel()} for name, symbol in PARAMETERS.items()]
    return {"parts": sizes, "total": sum(part["size"] for part in sizes)}


def _state(trace: Trace, example: Index, unit: int) -> str:
    for one in trace.request.get("interventions", ()):
        if one["at"] in ("hidden.preactivation", "hidden.activation") and one["index"][-1] in (None, unit):
            return "held"
    if not any(step.op == "relu" for step in trace.steps):
        return "plain"
    return "on" if float(trace["hidden.preactivation"][(*example, unit)]) > 0 else "silent"


def _names(trace: Trace, example: Index, state: str) -> str:
    """The units in a state, in words: "unit 1 and unit 2"; empty where there are none."""
    found = [f"unit {unit + 1}" for unit in range(UNITS) if _state(trace, example, unit) == state]
    return " and ".join(filter(None, [", ".join(found[:-1]), *found[-1:]]))


def _views(trace: Trace, example: Index) -> dict[str, Any]:
    """Where the text points within the run shown, as State.link takes it; None for what this run does not have."""

    def view(step: str, tensor: str, index: Index = (), **look: Any) -> dict[str, Any] | None:
        if step not in trace.tensors:
            return None
        return {"step": step_of(trace, step), "cell": cell_name(tensor, index), "of": None, "prove": None, **look}

    silent = next((unit for unit in range(UNITS) if _state(trace, example, unit) == "silent"), None)
    found = {
        "sum": view("hidden.preactivation", "hidden.preactivation", (*example, 1)),
        "sends": view("hidden.activation", "hidden.activation", (*example, 0)),
        "readout": view("prediction", "prediction", (*example, 0)),
        "loss": view("loss", "loss"),
        "graph": view("loss", "loss", view="graph"),
        "paths": view("x.grad", "x", (*example, 0), of="gradient"),
        "frozen": view("hidden.weight.updated", "hidden.weight.updated", (0, 0), view="matrices"),
        "silent": None,
        "closed": None,
    }
    if silent is not None:
        place = (*example, silent)
        found["silent"] = view("hidden.activation", "hidden.activation", place)
        found["closed"] = view("hidden.preactivation.grad", "hidden.preactivation", place, of="gradient")
    return found


def _paths(trace: Trace, tensor: str, index: Index) -> dict[str, Any] | None:
    """The gradient of one cell, path by path; None where no path leads to the loss."""
    if trace.record(tensor).gradient is None:
        return None
    found = paths(trace, tensor, index)
    gradient = written(trace, tensor, index, what="gradient")
    return {
        "label": found.label,
        "cell": gradient["cell"],
        "total": single(found.total),
        "complete": found.complete,
        "paths": [
            {
                "hops": [{"label": hop.label, "derivative": single(hop.derivative)} for hop in path.hops],
                "value": single(path.value),
            }
            for path in found.paths
        ],
    }


def _collapsed(trace: Trace, example: Index) -> dict[str, Any]:
    """The one layer that the run's parameters make without the ReLU, each number a recorded product."""
    one = collapse(trace)
    return {
        "weights": [written(one, "collapsed.weight", (0, place)) for place in range(2)],
        "bias": written(one, "collapsed.bias", (0,)),
        "prediction": written(one, "prediction", (*example, 0)),
    }


@functools.cache
def _named() -> Mapping[str, Any]:
    """The runs that the text names; all start from the unedited one at x = (2, −1)."""
    here = {"cells": cells(shown(SLUG).trace, "x")}
    return {
        "base": _base() | here,
        "rates": _rates(),
        "off": _off(),
        "v3": _v3(),
        "rows": _rows(),
        "repeated": repeated(),
    }


def _base() -> dict[str, Any]:
    base = shown(SLUG)
    return {
        "prediction": base.prediction,
        "loss": base.loss,
        "target": base.value("target", (0,)),
        "links": {
            "silent": base.link("hidden.activation", cell="hidden.activation[2]"),
            "closed": base.link("hidden.preactivation.grad", cell="hidden.preactivation[2]", of="gradient"),
        },
    }


def _rates() -> dict[str, Any]:
    """One step on all parameters and one on v₁ alone, over learning rates; from the unedited run."""
    every = {rate: shown(SLUG, lr=rate) for rate in RATES}
    alone = {rate: shown(SLUG, lr=rate, frozen=ALL_BUT_V1) for rate in RATES}
    step = {"step": "readout.weight.updated", "cell": "readout.weight.updated[0,0]"}
    first, first_alone = every[RATES[0]], alone[RATES[0]]
    best = min(RATES, key=lambda rate: every[rate].after["loss"])
    best_alone = min(RATES, key=lambda rate: alone[rate].after["loss"])
    return {
        "rows": [
            {
                "rate": rate,
                "every": every[rate].after["loss"],
                "alone": alone[rate].after["loss"],
                "rises": every[rate].after["loss"] > every[rate].loss,
                "links": {"every": every[rate].link(**step), "alone": alone[rate].link(**step)},
            }
            for rate in RATES
        ],
        "rate": RATES[0],
        "every": {**first.after, "link": first.link(**step)},
        "alone": {**first_alone.after, "link": first_alone.link(**step)},
        "best": {"rate": best, "loss": every[best].after["loss"]},
        "best_alone": {"rate": best_alone, "loss": alone[best_alone].after["loss"]},
        "moved_of_frozen": shown(SLUG, frozen=["hidden.weight", "hidden.bias"]).after["updatable"],
    }


def _off() -> dict[str, Any]:
    """The second unit switched off: the prediction rises, since its share was negative."""
    before = shown(SLUG)
    after = shown(SLUG, do={"hidden.activation[1]": "off"})
    return {
        "before": before.prediction,
        "after": after.prediction,
        "sends": before.value("hidden.activation", (1,)),
        "weight": before.value("readout.weight", (0, 1)),
        "share": before.value("hidden.activation", (1,)) * before.value("readout.weight", (0, 1)),
        "gradient_before": before.value("hidden.preactivation.grad", (1,)),
        "gradient_after": after.value("hidden.preactivation.grad", (1,)),
        "link": after.link("hidden.activation", cell="hidden.activation[1]"),
        "predict": after.link("hidden.preactivation", predict=True),
    }


def _v3() -> dict[str, Any]:
    """v₃ = 101: nothing at (2, −1), where the third unit is silent; a great deal at (0, 1)."""
    there: dict[str, float | None] = {"x[0]": 0, "x[1]": 1}
    edit: dict[str, float | None] = {"readout.weight[0,2]": 101}

    def place(before: Shown, after: Shown) -> dict[str, Any]:
        return {
            "x": cells(before.trace, "x"),
            "sends": before.value("hidden.activation", (2,)),
            "before": before.prediction,
            "after": after.prediction,
            "gradient": before.value("readout.weight.grad", (0, 2)),
            "link": after.link("prediction", cell="prediction[0]"),
            "predict": after.link("hidden.activation", predict=True),
        }

    here = place(shown(SLUG), shown(SLUG, set=edit))
    elsewhere = place(shown(SLUG, set=there), shown(SLUG, set={**there, **edit}))
    old = shown(SLUG).value("readout.weight", (0, 2))
    return {"old": old, "new": shown(SLUG, set=edit).value("readout.weight", (0, 2)), "here": here, "there": elsewhere}


def _rows() -> dict[str, Any]:
    """Three examples as the rows of one matrix."""
    run = shown(SLUG, rows=3)
    size = run.trace["x"].shape[0]
    return {
        "examples": [
            {name: cells(run.trace, name, (row,)) for name in ("x", "hidden.preactivation", "prediction", "target")}
            for row in range(size)
        ],
        "loss": run.loss,
        "gradient": written(run.trace, "hidden.weight", (1, 0), what="gradient"),
        "link": run.link("hidden.preactivation", view="matrices"),
        "sum": run.link("hidden.weight.grad", cell="hidden.weight[1,0]", of="gradient"),
    }


LESSON = Lesson(
    slug=SLUG,
    title="A network you can account for",
    part="Foundations",
    order=1,
    summary="Two inputs, three hidden units, one output. Follow all 13 parameters through a prediction, a loss, every "
    "gradient and one update, and open any number on the way.",
    model="tiny_network",
    request={"update": {"rule": "sgd", "learning_rate": 0.1, "frozen": []}},
    examples=EXAMPLES[1:],
    prose=prose,
    exercises=accountable_network_check.exercises,
    plane=True,
    training=TRAINING,
)
