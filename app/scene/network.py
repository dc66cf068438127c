"""A dense network as a picture: units as nodes with their numbers, weights as edges signed and sized by theirs.

In the forward pass and the loss it shows values; in the backward pass the gradients that flow back; in the update old
and new weights. Works for every run that layers.py can read. Columns with more units than fit show the first ones and
say how many are left out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from app import numbers
from app.scene import ends, layers
from app.scene.cells import Cells, classes, room, said
from app.scene.network_layout import MAX_UNITS, Layout, Plan, bias_width, label_width, lay_out
from app.scene.readings import Readings
from app.scene.selection import Selection
from engine import expression
from engine.trace import Index, Trace

if TYPE_CHECKING:
    from app.page.run import Run

ORDER = 1

fits = layers.fits

_THINNEST, _THICKEST, _ZERO = 1.6, 6.2, 1.5
_MAX_LABELLED = 24


def of(run: Run) -> dict[str, Any]:
    """The picture of a page's run."""
    return draw(run.trace, run.recorded.baseline, run.state.step, run.state.cell, example=run.state.example)


def draw(
    trace: Trace,
    baseline: Trace | None = None,
    step: int | None = None,
    selected: str | None = None,
    *,
    example: int = 0,
    small: bool = False,
) -> dict[str, Any]:
    """The picture as plain data: nodes, edges, and two layouts of them ("wide", "tall").

    step: index of the current step; None shows the finished run. selected: a cell's name, of a value or a gradient.
    example: which row is drawn where the run has several. small: without target, loss and gradients.
    Raises ValueError if the run is not a dense network, or step or example are out of range.
    """
    return _Picture(trace, baseline, step, selected, example, small).data()


class _Picture:
    def __init__(
        self, trace: Trace, baseline: Trace | None, step: int | None, selected: str | None, example: int, small: bool
    ) -> None:
        self.network = layers.read(trace)
        self.read = Readings(trace, baseline, step)
        self.selection = Selection(trace, selected)
        self.small = small
        shape = trace.record(self.network.columns[-1].tensor).shape
        self.examples = shape[0] if len(shape) == 2 else 1
        if not 0 <= example < self.examples:
            raise ValueError(f"example must be from 0 to {self.examples - 1}; got {example}")
        self.example = example
        self.cells = Cells(self.read, self.selection, gradients=not small)
        self.backward = self.cells.backward

    def data(self) -> dict[str, Any]:
        shown = [self._units(column.units, MAX_UNITS["wide"]) for column in self.network.columns]
        nodes: list[dict[str, Any]] = []
        places: dict[tuple[int, int], int] = {}
        for number, units in enumerate(shown):
            for unit in units:
                places[number, unit] = len(nodes)
                nodes.append(self._unit(number, unit))
        last = [] if self.small else ends.nodes(self.network, self.cells, self.example, self.examples)
        outputs = [places[len(shown) - 1, unit] for unit in shown[-1]]
        nodes += last
        edges = self._edges(shown, places) + ends.edges(self.network, self.read, outputs, last, len(places))
        _scale_nodes(nodes)
        _scale_edges(edges)
        for thing in (*nodes, *edges, *(node["bias"] for node in nodes if node["bias"])):
            thing["classes"] = classes(thing)
        return {
            "kind": "network",
            "summary": self._summary(),
            "phase": self.read.phase,
            "shows": "gradient" if self.backward else "value",
            "small": self.small,
            "example": self.example,
            "examples": self.examples,
            "nodes": nodes,
            "edges": edges,
            "layouts": {name: self._layout(name, nodes, edges, shown) for name in MAX_UNITS},
        }

    # What is drawn

    def _units(self, count: int, limit: int) -> list[int]:
        """The units of a column that are drawn: the first ones, and in the last place the selected one."""
        units = list(range(min(count, limit)))
        for column in self.network.columns:
            unit = self.selection.unit(column.tensor)
            if unit is not None and column.units == count and unit not in units and unit < count:
                units[-1] = unit
        return units

    def _index(self, name: str, *last: int) -> Index:
        """The index of a unit's cell in the drawn example."""
        leading = len(self.read.shape(name)) - len(last)
        return (*(self.example,) * leading, *last)

    def _unit(self, number: int, unit: int) -> dict[str, Any]:
        column = self.network.columns[number]
        name, index = column.tensor, self._index(column.tensor, unit)
        kind = "preactivation" if column.weight else "activation"
        if number in (0, len(self.network.columns) - 1):
            kind = "output" if number else "input"
        makers = () if column.step is None else (column.step, *column.replaced)
        node = self.cells.node(kind, name, index, self.read.shown(name, *makers))
        node["mark"] = " ".join(self.read.changes(column.replaced, index)) or None
        if node["mark"]:
            node["computed"] = self.read.value(column.computed, index)
            if not self.backward:
                node["top"] = f"{node['label']} {node['mark']}"
                if node["sub"] is None and node["computed"] is not None:
                    node["sub"] = {"words": "", "value": node["computed"], "struck": True}
        node["bias"] = self.cells.bias(column.bias, unit) if column.bias else None
        node["column"], node["unit"] = number, unit
        node["said"] = said(node)
        return node

    def _edges(self, shown: list[list[int]], places: dict[tuple[int, int], int]) -> list[dict[str, Any]]:
        edges = []
        for number, column in enumerate(self.network.columns[1:], 1):
            hot = self.read.current(column.step)
            if column.weight is None:
                edges += [self._pass(places, number, unit, hot) for unit in shown[number]]
                continue
            labelled = len(shown[number - 1]) * len(shown[number]) <= _MAX_LABELLED
            for unit in shown[number]:
                for source in shown[number - 1]:
                    edge = self._weight(number, source, unit, hot)
                    edge |= {"source": places[number - 1, source], "target": places[number, unit]}
                    edge["labelled"] = labelled or edge["part"] or edge["selected"]
                    edges.append(edge)
        return edges

    def _weight(self, number: int, source: int, unit: int, hot: bool) -> dict[str, Any]:
        column, before = self.network.columns[number], self.network.columns[number - 1]
        assert column.weight is not None
        edge = self.cells.parameter(column.weight, (unit, source))
        into = self._index(column.tensor, unit)
        out = self._index(before.tensor, source)
        given, arriving = self.read.value(before.tensor, out), self.read.gradient(column.computed, into)
        part = self.selection.has(column.tensor, into) or self.selection.has(column.bias, (unit,)) or edge["selected"]
        part = part or (number == 1 and self.selection.has(before.tensor, out))
        return edge | {
            "kind": "weight",
            "contribution": _product(edge["value"], given),
            "flow": _product(edge["value"], arriving),
            "state": self.read.shown(column.weight, column.step) if column.step else "done",
            "hot": hot or self.read.updating(column.weight),
            "part": part,
            "labelled": True,
        }

    def _pass(self, places: dict[tuple[int, int], int], number: int, unit: int, hot: bool) -> dict[str, Any]:
        """An edge without a weight, through an activation."""
        column, before = self.network.columns[number], self.network.columns[number - 1]
        name = column.tensor
        assert column.step is not None
        return {
            "kind": "pass",
            "source": places[number - 1, unit],
            "target": places[number, unit],
            "state": self.read.shown(before.tensor if self.backward else name, column.step),
            "hot": hot,
            "part": self.selection.has(name, self._index(name, unit)),
            "cut": bool(self.read.changes(column.replaced, self._index(name, unit))),
            "labelled": False,
        }

    # Where it stands

    def _layout(self, name: str, nodes: list, edges: list, shown: list[list[int]]) -> dict[str, Any]:
        kept = [self._units(column.units, MAX_UNITS[name]) for column in self.network.columns]
        kept = [[unit for unit in units if unit in there] for units, there in zip(kept, shown, strict=True)]
        use = [n for n, node in enumerate(nodes) if "column" not in node or node["unit"] in kept[node["column"]]]
        new = {old: number for number, old in enumerate(use)}
        drawn = [n for n, edge in enumerate(edges) if edge["source"] in new and edge["target"] in new]
        left_out = [column.units - len(units) for column, units in zip(self.network.columns, kept, strict=True)]
        more = [f"{count:,} more" if count else "" for count in left_out]
        plan = Plan(
            columns=tuple(map(len, kept)),
            dense=tuple(column.weight is not None for column in self.network.columns[1:]),
            edges=tuple(
                (
                    new[edges[n]["source"]],
                    new[edges[n]["target"]],
                    room(edges[n]["parts"]) if edges[n]["labelled"] else 0,
                )
                for n in drawn
            ),
            biases=tuple(room(nodes[n]["bias"]["parts"]) if nodes[n]["bias"] else 0 for n in use),
            more=tuple(map(len, more)),
            target=any(node["kind"] == "target" for node in nodes),
            error=any(node["kind"] == "error" for node in nodes),
            loss=any(node["kind"] == "loss" for node in nodes),
        )
        return _placed(lay_out(plan, name), nodes, edges, use, drawn, more)

    def _summary(self) -> str:
        first, *hidden, last = [column for column in self.network.columns if column.weight or column.step is None]
        parts = [_count(first.units, "input"), *(_count(column.units, "hidden unit") for column in hidden)]
        said = f"{', '.join(parts)}, {_count(last.units, 'output')}"
        rows = f"; example {self.example + 1} of {self.examples}" if self.examples > 1 else ""
        return f"Dense network: {said}{rows}. Shown: {'gradients' if self.backward else 'values'}."


def _placed(layout: Layout, nodes: list, edges: list, use: list[int], drawn: list[int], more: list[str]) -> dict:
    """The layout as plain data; labels and biases get the ground that their text covers."""
    stands: list[dict[str, Any]] = []
    for n, box, (x, y), bias in zip(use, layout.nodes, layout.tops, layout.biases, strict=True):
        place = bias and replace(bias, width=bias_width(nodes[n]["bias"]["characters"])).data()
        stands.append({"node": n, **box.data(), "top": [round(x, 1), round(y, 1)], "bias": place})
    runs = []
    for n, edge in zip(drawn, layout.edges, strict=True):
        label = edge.label and replace(edge.label, width=label_width(edges[n]["characters"])).data()
        runs.append({"edge": n, "path": edge.path, "label": label})
    places = zip(layout.more, more, strict=True)
    notes = [{"x": round(at[0], 1), "y": round(at[1], 1), "text": text} for at, text in places if at]
    size = {"width": round(layout.width, 1), "height": round(layout.height, 1)}
    return {**size, "nodes": stands, "edges": runs, "more": notes}


def _product(left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    return expression.multiply(expression.const(left), expression.const(right)).value


def _scale_nodes(nodes: list[dict[str, Any]]) -> None:
    """Signs, and strengths from 0 to 1 by the largest magnitude shown."""
    largest = _largest(nodes)
    for node in nodes:
        node["sign"] = numbers.sign(node["main"]) or "none"
        node["strength"] = _part(node["main"], largest)


def _scale_edges(edges: list[dict[str, Any]]) -> None:
    """Widths by magnitude; zero is thin."""
    weights = [edge for edge in edges if edge["kind"] == "weight"]
    largest = _largest(weights)
    for edge in weights:
        part = _part(edge["main"], largest)
        edge["width"] = round(_THINNEST + (_THICKEST - _THINNEST) * part, 2) if part else _ZERO


def _largest(things: list[dict[str, Any]]) -> float:
    sizes = [abs(thing["main"]) for thing in things if thing["main"] is not None and math.isfinite(thing["main"])]
    return max(sizes, default=0.0)


def _part(value: float | None, largest: float) -> float:
    if value is None or math.isnan(value) or not largest:
        return 0.0
    return min(1.0, abs(value) / largest)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
