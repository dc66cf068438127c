"""The gradient of a cell as a train of gears: along one path to the loss, each local derivative, worked out.

A gear is {of, by, name, value, parts}: d of / d by, with the expression of its value on one line. A wheel is what the
path passes, with how far it turns for each turn of the first: the product of the gears up to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from app.inline import cell_name, line
from app.numbers import single
from app.shown import as_shown
from engine.errors import InputError
from engine.explain import explain
from engine.expression import Expr, leaves, multiply
from engine.labels import cell_label
from engine.paths import Hop, Path, paths
from engine.trace import Index, Trace

Data = dict[str, Any]

PER_ROW, APART, ABOVE, BELOW, RADIUS = 4, 82.0, 31.0, 108.0, 23.0
RIM, TEETH = RADIUS + 3, 20
TURN = 90  # degrees that stand for one turn of the first wheel
FURTHEST = 350


def trains(trace: Trace, tensor: str, index: Index) -> Data | None:
    """Every path from a cell to the loss as a train, their sum, and the gradient that the run has.

    None where no path leads to the loss.
    """
    try:
        found = paths(trace, tensor, index)
    except InputError:
        return None
    record = trace.record(tensor)
    start = {"label": cell_label(record, index), "cell": cell_name(tensor, index)}
    return {
        "start": start,
        "label": found.label,
        "trains": [_train(trace, start, tensor, index, path) for path in found.paths],
        "total": math.fsum(path.value for path in found.paths),
        "gradient": single(found.total),
    }


def _train(trace: Trace, start: Data, tensor: str, index: Index, path: Path) -> Data:
    gears, wheels = [], [{**start, "turn": 1.0}]
    at, place, turn = tensor, index, 1.0
    for hop in path.hops:
        gears.append(_gear(trace, at, place, wheels[-1]["label"], hop))
        turn *= hop.derivative
        wheels.append({"label": hop.label, "cell": cell_name(hop.tensor, hop.index), "turn": turn})
        at, place = hop.tensor, hop.index
    return {"gears": gears, "wheels": wheels, "product": path.value}


def _gear(trace: Trace, tensor: str, index: Index, by: str, hop: Hop) -> Data:
    tree = local(trace, tensor, index, hop)
    return {
        "of": hop.label,
        "by": by,
        "name": f"∂{hop.label}/∂{by}",
        "value": hop.derivative,
        "parts": [] if tree is None or tree.kind == "const" else line(as_shown(trace, tree)),
    }


def local(trace: Trace, tensor: str, index: Index, hop: Hop) -> Expr | None:
    """d hop / d the cell before it as an expression: what the gradient there is multiplied by on its way back.

    None where the step back is no such product (a gate that is open or shut).
    """
    arriving = (trace.record(hop.tensor).gradient, hop.index)
    for part in explain(trace, tensor, index, what="gradient").contributions:
        for term in part.expression.args if part.expression.kind == "sum" else (part.expression,):
            if any((leaf.tensor, leaf.index) == arriving for leaf in leaves(term)):
                return _without(term, arriving)
    return None


def _without(tree: Expr, leaf: tuple[str | None, Index]) -> Expr | None:
    """A product without one of its factors, also under a bar; what is left of the factor alone is 1."""
    if (tree.tensor, tree.index) == leaf:
        return Expr("const", 1.0)
    if tree.kind == "quotient":
        top = _without(tree.args[0], leaf)
        bottom = tree.args[1]
        return top if top is None or bottom.value == 1 else Expr("quotient", top.value / bottom.value, (top, bottom))
    if tree.kind == "product":
        rest = [arg for arg in tree.args if (arg.tensor, arg.index) != leaf]
        return multiply(*rest) if len(rest) == len(tree.args) - 1 else None
    return None


def picture(wheels: Sequence[Data]) -> Data:
    """Where the wheels of a train stand, row by row, and the sector that each has turned through.

    A turn of the first wheel is TURN degrees, clockwise where it is positive; more than FURTHEST is cut and says so.
    """
    drawn = []
    for number, wheel in enumerate(wheels):
        x, y = APART * (number % PER_ROW + 0.5), ABOVE + BELOW * (number // PER_ROW)
        degrees = wheel["turn"] * TURN
        cut = abs(degrees) > FURTHEST
        drawn.append({**wheel, "x": x, "y": y, "sector": _sector(x, y, degrees), "cut": cut})
    rows = math.ceil(len(wheels) / PER_ROW)
    return {
        "wheels": drawn, "width": APART * min(len(wheels), PER_ROW), "height": BELOW * rows,
        "radius": RADIUS, "rim": RIM, "tooth": round(math.pi * RIM / TEETH, 4),
    }  # fmt: skip


def _sector(x: float, y: float, degrees: float) -> str:
    """An SVG path from the top of a circle, as many degrees round."""
    angle = math.copysign(min(abs(degrees), FURTHEST), degrees)
    end_x, end_y = x + RADIUS * math.sin(math.radians(angle)), y - RADIUS * math.cos(math.radians(angle))
    flags = f"{int(abs(angle) > 180)} {int(angle > 0)}"
    return f"M{x:g} {y:g}V{y - RADIUS:g}A{RADIUS:g} {RADIUS:g} 0 {flags} {end_x:.2f} {end_y:.2f}Z"
