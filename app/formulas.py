"""Every formula that pages show, as LaTeX: those written in templates, and those of the steps of the models' runs.

`make maths` sets them at build time (static/maths/build.mjs) into templates/maths.json. `python -m app.formulas` prints
the list. A formula that is not in it (a model of the reader's own) is set in the browser.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator

import orjson

from app import lessons
from app.page import chain_rule
from app.templating import TEMPLATES
from engine import models
from engine.models.model import Model
from engine.trace import Trace

_SGD = {"rule": "sgd", "learning_rate": 0.1}
_WRITTEN = re.compile(r"""("(?:[^"\\]|\\.)*")\s*\|\s*tex\b""")


def formulas() -> list[str]:
    """Sorted, each once."""
    found = set(_in_templates())
    for model in models.catalogue().values():
        found |= set(_in_runs(model))
    return sorted(found - {""})


def _in_templates() -> Iterator[str]:
    for template in TEMPLATES.rglob("*.html"):
        for literal in _WRITTEN.findall(template.read_text(encoding="utf-8")):
            yield ast.literal_eval(literal)


def _in_runs(model: Model) -> Iterator[str]:
    """Of one example and of two, with every option, with all activations computed and with a cell of each held."""
    update = next((one.request["update"] for one in lessons.catalogue().values() if _updates(one, model)), _SGD)
    choices = [[(option.name, value) for value in option.values] for option in model.options]
    for rows, picked in itertools.product((1, 2), itertools.product(*choices)):
        request = {**_examples(model, rows), "options": dict(picked), "update": update}
        plain = model.trace(request)
        yield from _of_steps(plain)
        held = [
            {"at": name, "index": [None] * (len(record.shape) - 1) + [0], "set": 0}
            for name, record in plain.tensors.items()
            if record.kind == "activation" and record.shape and ":" not in name
        ]
        yield from _of_steps(model.trace({**request, "interventions": held}))


def _updates(lesson: lessons.Lesson, model: Model) -> bool:
    return lesson.model == model.name and "update" in lesson.request


def _of_steps(trace: Trace) -> Iterator[str]:
    for step in trace.steps:
        yield from chain_rule.formulas(trace, step) or [step.tex]


def _examples(model: Model, rows: int) -> dict[str, object]:
    if rows == 1:
        return {}
    target = model.defaults["target"]
    return {
        "inputs": {field.name: [list(field.default)] * rows for field in model.inputs},
        "target": [target] * rows,
    }


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(formulas(), option=orjson.OPT_INDENT_2) + b"\n")
