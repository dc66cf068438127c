"""A network that looks at a picture: the picture, columns of units with their numbers, and the strongest edges.

Any run whose input is a grid (its model's `grids`) and whose forward is a chain of layers is drawn so. The unit that is
selected shows its incoming weights: as a picture where it reads the picture, else as edges. In the backward pass there
are gradients instead of values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from app import numbers
from app.inline import cell_name
from app.picture import grid_of, picture
from app.scene.cells import Cells, classes
from app.scene.readings import Readings
from app.scene.selection import Selection
from app.scene.strength import members
from engine.trace import Index, Step, Trace

if TYPE_CHECKING:
    from app.page.run import Run

ORDER = 1.5
MOST_UNITS = 24
STRONGEST = 24
READ = {"softmax": 0, "sigmoid": 1}
"""What the last layer's numbers are read by, where it does."""
HEIGHT, PITCH, TOP = 22.0, 27.0, 26.0
MARGIN = 14.0
"""Room at the right for the marks of answer and target."""
WIDTHS = {"wide": (640.0, 116.0), "tall": (360.0, 100.0)}
"""Of the picture and of a node, by layout."""
_THINNEST, _THICKEST = 1.0, 5.0

Data = dict[str, Any]


@dataclass
class Column:
    """One layer: how many units, the tensors it makes in order, each with its step, and its parameters' names."""

    units: int
    made: list[tuple[str, Step | None]] = field(default_factory=list)
    weight: str | None = None
    bias: str | None = None


def fits(trace: Trace) -> bool:
    """Whether a run reads a picture and is a chain of layers."""
    return columns_of(trace) is not None


def columns_of(trace: Trace) -> list[Column] | None:
    """The input and the layers above it; None where the run is no such chain."""
    steps = [step for step in trace.steps if step.phase == "forward"]
    given = [one.tensor for one in steps[0].inputs if trace.record(one.tensor).kind == "input"] if steps else []
    if not given or grid_of(trace, trace.record(given[0])) is None or len(trace.record(given[0]).shape) > 2:
        return None
    columns = [Column(trace.record(given[0]).shape[-1], [(given[0], None)])]
    for step in steps:
        read = {operand.role: operand.tensor for operand in step.inputs}
        shape, known = trace.record(step.output).shape, [name for name, _ in columns[-1].made]
        if not set(read.values()) & set(known) or not shape:
            return None
        if step.op == "linear":
            columns.append(Column(shape[-1], [(step.output, step)], read["weight"], read.get("bias")))
        elif shape[-1] == columns[-1].units:
            columns[-1].made.append((step.output, step))
        else:
            return None
    return columns if len(columns) > 1 and all(one.units <= MOST_UNITS for one in columns[1:]) else None


def of(run: Run) -> Data:
    """{pictures, columns: [{symbol, step, nodes}], edges, layouts, shows, phase, chosen, answer, target}.

    pictures: {key, symbol, words, src, cell, sum}. A node as cells.py says it, with the name of its unit; an edge
    {source: [column, unit], target, cell, value, sign, part}: its weight times what passes along it.
    """
    return _Drawing(run).data()


class _Drawing:
    def __init__(self, run: Run) -> None:
        self.run, self.trace = run, run.trace
        self.columns = columns_of(run.trace) or []
        self.read = Readings(run.trace, run.recorded.baseline, run.state.step)
        self.selection = Selection(run.trace, run.state.cell)
        self.cells = Cells(self.read, self.selection, gradients=False)
        self.backward = self.read.phase == "backward"
        self.example = run.state.example
        self.shown = [self._shown(column) for column in self.columns]
        self.chosen = self._chosen()

    def data(self) -> Data:
        drawn = [self._column(place) for place in range(1, len(self.columns))]
        edges = [edge for place in range(2, len(self.columns)) for edge in self._edges(place)]
        return {
            "kind": "image",
            "shows": "gradient" if self.backward else "value",
            "phase": self.read.phase,
            "summary": self._summary(),
            "pictures": self._pictures(),
            "columns": drawn,
            "edges": edges,
            "chosen": None if self.chosen is None else list(self.chosen),
            "layouts": {name: self._layout(*widths, edges) for name, widths in WIDTHS.items()},
        }

    # What is shown

    def _shown(self, column: Column) -> tuple[str, Step | None]:
        """The tensor that stands for a layer: the one the current step is about, else what it gives on."""
        now = self.run.step
        about = set()
        if now is not None:
            about = {one.tensor for one in now.sends} if now.phase == "backward" else {now.output}
        made = [one for one in column.made if one[0] in about]
        if made:
            return made[-1]
        if self.backward:
            return column.made[0]
        reached = [one for one in column.made if one[1] is None or self.read.reached(one[1]) != "later"]
        read = [one for one in reached or column.made if one[1] is not None and one[1].op in READ]
        return (read or reached or column.made)[-1]

    def _chosen(self) -> tuple[int, int] | None:
        """The layer and unit of the selected cell, or of the parameter's row that it is in."""
        name, index = self.selection.tensor, self.selection.index
        for place, column in enumerate(self.columns[1:], 1):
            if index and name in (column.weight, column.bias):
                return place, index[0]
            if index and name in [tensor for tensor, _ in column.made]:
                return place, index[-1]
        return None

    def _index(self, tensor: str, *last: int) -> Index:
        return (*(self.example,) * (len(self.trace.record(tensor).shape) - len(last)), *last)

    def _row(self, tensor: str, leading: Index = ()) -> np.ndarray:
        """The numbers on a tensor's last axis, of the drawn example."""
        place = leading or self._index(tensor, 0)[:-1]
        return self.trace.tensors[tensor].value[place].detach().numpy().astype(np.float64)

    def _column(self, place: int) -> Data:
        column, (name, step) = self.columns[place], self.shown[place]
        record = self.trace.record(name)
        names = members(record.axes[-1])
        kind, state = "output" if place == len(self.columns) - 1 else "activation", self._state(place)
        nodes = [self.cells.node(kind, name, self._index(name, unit), state) for unit in range(column.units)]
        size = max((abs(node["main"]) for node in nodes if node["main"] is not None), default=0.0)
        for unit, node in enumerate(nodes):
            node["sign"] = numbers.sign(node["main"]) or "none"
            node["strength"] = min(1.0, abs(node["main"]) / size) if size and node["main"] is not None else 0.0
            node["chosen"] = self.chosen == (place, unit)
            node["name"], node["classes"] = names[unit], classes(node)
        data = {"symbol": record.symbol, "tensor": name, "step": None if step is None else step.index, "nodes": nodes}
        return data | self._read_as(place, nodes)

    def _state(self, place: int) -> str:
        name, step = self.shown[place]
        return "done" if step is None else self.read.shown(name, step)

    def _read_as(self, place: int, nodes: list[Data]) -> Data:
        """Of the last layer of several units: which one is largest, and which one the target names."""
        values = [node["value"] for node in nodes]
        if place < len(self.columns) - 1 or len(nodes) < 2 or None in values or nodes[0]["state"] == "later":
            return {"answer": None, "target": self._target(place)}
        return {"answer": max(range(len(values)), key=values.__getitem__), "target": self._target(place)}

    def _target(self, place: int) -> int | None:
        target = self.trace.tensors.get("target")
        if place < len(self.columns) - 1 or target is None or target.dtype != "int64":
            return None
        return int(target.value.reshape(-1)[min(self.example, target.value.numel() - 1)])

    # The strongest edges

    def _edges(self, place: int) -> list[Data]:
        """The edges of a layer through which most passes, and all of the chosen unit's."""
        column = self.columns[place]
        weight = self.trace.record(column.weight or "")
        flow = self._flow(place)
        order = np.argsort(-np.abs(flow), axis=None, kind="stable")[:STRONGEST]
        kept = {tuple(map(int, np.unravel_index(at, flow.shape))) for at in order}
        if self.chosen is not None and self.chosen[0] == place:
            kept |= {(self.chosen[1], source) for source in range(flow.shape[1])}
        found: list[Data] = []
        for unit, source in sorted(kept):
            value = numbers.single(float(flow[unit, source]))
            part = self.chosen == (place, unit)
            if value or part:
                found.append({
                    "source": [place - 1, source], "target": [place, unit],
                    "cell": cell_name(weight.name, (unit, source)),
                    "label": self.read.label(weight.name, (unit, source)),
                    "value": value, "part": part, "sign": numbers.sign(value), "state": self._state(place),
                })  # fmt: skip
        largest = max((abs(edge["value"]) for edge in found), default=0.0)
        for edge in found:
            share = abs(edge["value"]) / largest if largest else 0.0
            edge["width"] = round(_THINNEST + (_THICKEST - _THINNEST) * share, 2)
        return found

    def _flow(self, place: int) -> np.ndarray:
        """[unit, source]: each weight times what comes along it, forward the activation, backward the gradient."""
        column, below = self.columns[place], self.columns[place - 1]
        weight = self.trace.record(column.weight or "").value.detach().numpy().astype(np.float64)
        gradient = self.trace.record(column.made[0][0]).gradient
        if self.backward:
            return weight * self._row(gradient)[:, None] if gradient else np.zeros_like(weight)
        return weight * self._row(below.made[-1][0])

    # Pictures

    def _pictures(self) -> list[Data]:
        name = self.columns[0].made[0][0]
        grid = grid_of(self.trace, self.trace.record(name))
        assert grid is not None
        found = [self._picture("input", name, (), "what it looks at", grid)]
        if self.chosen is None or self.chosen[0] != 1:
            return found
        weight, unit = self.columns[1].weight or "", self.chosen[1]
        label = self.read.label(self.columns[1].made[0][0], self._index(self.columns[1].made[0][0], unit))
        found.append(self._picture("weights", weight, (unit,), f"weights of {label}", grid))
        if not self.backward and not self.read.updated(weight):
            products = self._row(weight, (unit,)) * self._row(name)
            found.append({
                "key": "products", "symbol": "w · x", "words": "weight × pixel, which sum to",
                "src": picture(products, grid), "cell": None, "sum": numbers.single(float(products.sum())),
            })  # fmt: skip
        return found

    def _picture(self, key: str, tensor: str, leading: Index, words: str, grid: tuple[int, int]) -> Data:
        """A row of a tensor: its gradient in the backward pass once it is there, new weights in the update."""
        shown = self.read.updated(tensor) or tensor
        gradient = self.read.gradient_name(tensor)
        if self.backward and gradient and self.read.arrived(tensor) != "later":
            shown, words = gradient, f"gradient: {words}"
        if self.run.hidden(shown):
            shown = tensor
        row = self._row(shown, leading)
        index = (*(leading or self._index(tensor, 0)[:-1]), self._pixel(row))
        return {
            "key": key, "symbol": self.trace.record(shown).symbol, "words": words, "src": picture(row, grid),
            "cell": cell_name(shown, index), "sum": None,
        }  # fmt: skip

    def _pixel(self, row: np.ndarray) -> int:
        """The place on the grid that a picture's link selects: the one that is selected there, else the strongest."""
        chosen = self.selection.tensor
        if chosen is not None and self.selection.index and self.trace.record(chosen).shape[-1] == self.columns[0].units:
            return self.selection.index[-1]
        return int(np.argmax(np.abs(row)))

    # Where it stands

    def _layout(self, width: float, node: float, edges: list[Data]) -> Data:
        most = max(column.units for column in self.columns[1:])
        count = len(self.columns) - 1
        first, room = node / 2, width - MARGIN - node
        across = [first + (at * room / (count - 1) if count > 1 else room / 2) for at in range(count)]

        def y(place: int, unit: int) -> float:
            return TOP + (most - self.columns[place].units) * PITCH / 2 + (unit + 0.5) * PITCH

        lines = []
        for edge in edges:
            (left, source), (right, unit) = edge["source"], edge["target"]
            x1, x2 = across[left - 1] + node / 2, across[right - 1] - node / 2
            lines.append([round(one, 1) for one in (x1, y(left, source), x2, y(right, unit))])
        return {
            "width": width, "height": TOP + most * PITCH + 4, "node": [node, HEIGHT],
            "columns": [{"x": round(x, 1), "y": [y(place, unit) for unit in range(self.columns[place].units)]}
                        for place, x in enumerate(across, 1)],
            "edges": lines,
        }  # fmt: skip

    def _summary(self) -> str:
        sizes = " to ".join(f"{column.units:,}" for column in self.columns)
        return f"Layers of {sizes} units. Shown: {'gradients' if self.backward else 'values'}."
