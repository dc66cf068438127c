"""The timeline: one mark a step, in phases, and the way to the next and the last."""

from __future__ import annotations

from itertools import groupby

from app.page.run import Data, Run
from engine.trace import Step


def timeline(run: Run) -> list[Data]:
    """Every step in order: {index, phase, label, name, state: done|now|later, touched, frozen, link}.

    Stepping lets go of the selected cell, so that the longhand follows.
    """
    return [_mark(run, step) for step in run.trace.steps]


def phases(marks: list[Data]) -> list[Data]:
    """The marks grouped by phase, in order."""
    return [{"phase": phase, "marks": list(group)} for phase, group in groupby(marks, key=lambda mark: mark["phase"])]


def current(run: Run) -> Data | None:
    """The current step in full: its place, what it does and costs, and links to its neighbours (None at an end)."""
    step = run.step
    if step is None:
        return None
    last = len(run.trace.steps) - 1
    data = _mark(run, step) | {"count": last + 1, "of": run.state.of, "tex": step.tex, "op": step.op}
    data |= {"flops": step.flops, "note": step.note, "words": _words(run, step)}
    links = {"start": 0, "back": step.index - 1, "forward": step.index + 1, "end": last}
    data["links"] = {
        name: run.state.link(step=place, cell=None, prove=None) if 0 <= place <= last and place != step.index else None
        for name, place in links.items()
    }
    return data


def _mark(run: Run, step: Step) -> Data:
    now = run.state.step
    made = {*step.outputs, *(sent.to for sent in step.sends)}
    return {
        "index": step.index,
        "phase": step.phase,
        "label": step.symbol or step.name,
        "name": step.name,
        "state": "now" if step.index == now else "done" if step.index < now else "later",
        "touched": step.note == "intervention" or bool(made & run.recorded.touched),
        "frozen": step.note == "frozen",
        "link": run.state.link(step=step.index, cell=None, prove=None),
    }


def _words(run: Run, step: Step) -> str:
    """What the step does. An update may have steps of its own before a parameter moves, as AdamW's moments."""
    if step.phase == "update" and run.trace.tensors[step.output].kind != "parameter":
        return "prepares the update"
    return _WORDS[step.phase]


_WORDS = {
    "forward": "computes",
    "loss": "measures the error",
    "backward": "sends gradients back",
    "update": "moves a parameter against its gradient",
}
