"""The computation graph of a run: operations as nodes, on every edge the tensor that flows along it and its gradient.

Leaves are inputs and parameters; the last node is what the run ends in, the loss where there is one. Interventions are
operations too. Works for every run of up to MAX_OPERATIONS steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.scene.graph_labels import CHARACTER, details, label
from app.scene.graph_layout import DIRECTIONS, Plan, lay_out
from app.scene.readings import Readings
from app.scene.selection import Selection
from engine.trace import Step, Trace

if TYPE_CHECKING:
    from app.page.run import Run

ORDER = 3
MAX_OPERATIONS = 40

_SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "pow": "^"}


def fits(trace: Trace) -> bool:
    """Whether a run is small enough to be drawn as a graph."""
    return 0 < len(_operations(trace)) <= MAX_OPERATIONS


def of(run: Run) -> dict[str, Any]:
    """The picture of a page's run."""
    return draw(run.trace, run.recorded.baseline, run.state.step, run.state.cell)


def draw(
    trace: Trace, baseline: Trace | None = None, step: int | None = None, selected: str | None = None
) -> dict[str, Any]:
    """The picture as plain data: nodes, edges, the selected tensor's details, and two layouts ("wide", "tall").

    step: index of the current step; None shows the finished run. selected: a cell's name, of a value or a gradient.
    Raises ValueError if the run has no steps or too many, or the step is out of range.
    """
    return _Picture(trace, baseline, step, selected).data()


def _operations(trace: Trace) -> list[Step]:
    return [step for step in trace.steps if step.phase in ("forward", "loss")]


class _Picture:
    def __init__(self, trace: Trace, baseline: Trace | None, step: int | None, selected: str | None) -> None:
        self.steps = _operations(trace)
        if not 0 < len(self.steps) <= MAX_OPERATIONS:
            raise ValueError(f"expected a run of 1 to {MAX_OPERATIONS} operations; got {len(self.steps)}")
        self.trace = trace
        self.read = Readings(trace, baseline, step)
        self.selection = Selection(trace, selected)
        self.makers = {output: step for step in self.steps for output in step.outputs}
        self.undone = {step.forward: step for step in trace.steps if step.phase == "backward"}
        self.numbers: dict[str, int] = {}
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []

    def data(self) -> dict[str, Any]:
        for step in self.steps:
            operands = self._operands(step)
            sources = {tensor: self._source(tensor) for _, tensor in operands}
            target = self._add(f"step {step.index}", self._operation(step))
            for (role, tensor), port in zip(operands, self._ports(operands), strict=True):
                self._connect(sources[tensor], target, tensor, port, step, role)
        for step in self.steps:
            for output in step.outputs:
                if not any(edge["tensor"] == output for edge in self.edges):
                    self._connect(self._source(output), self._end(output), output, 0, None, "")
        backward = self.read.phase == "backward"
        return {
            "kind": "graph",
            "summary": self._summary(),
            "phase": self.read.phase,
            "shows": "gradient" if backward else "value",
            "nodes": self.nodes,
            "edges": self.edges,
            "details": self._details(),
            "layouts": {direction: self._layout(direction) for direction in DIRECTIONS},
        }

    def _add(self, key: str, node: dict[str, Any]) -> int:
        self.numbers[key] = len(self.nodes)
        self.nodes.append(node)
        return self.numbers[key]

    def _operands(self, step: Step) -> list[tuple[str, str]]:
        """Roles and tensors that a step reads; an intervention's masks and values are in its words."""
        read = [(operand.role, operand.tensor) for operand in step.inputs]
        if step.note != "intervention":
            return read
        return [(role, tensor) for role, tensor in read if self.trace.record(tensor).kind != "constant"]

    def _ports(self, operands: list[tuple[str, str]]) -> list[int]:
        """Which side each operand comes in on: what was computed in the middle, the others in turn before and after."""
        made = [n for n, (_, tensor) in enumerate(operands) if tensor in self.makers]
        main = made[0] if made else 0
        others = [n for n in range(len(operands)) if n != main]
        ports = {main: 0}
        for turn, n in enumerate(others):
            ports[n] = 1 if len(others) == 1 else (turn // 2 + 1) * (1 if turn % 2 else -1)
        return [ports[n] for n in range(len(operands))]

    def _source(self, tensor: str) -> int:
        """The node that an edge with a tensor leaves: what made it, or its leaf."""
        maker = self.makers.get(tensor)
        key = f"step {maker.index}" if maker else f"leaf {tensor}"
        if key in self.numbers:
            return self.numbers[key]
        record = self.trace.record(tensor)
        node = self._node(record.kind, record.symbol, f"{record.kind} {record.symbol}, {tensor}")
        updating = self.read.updating(tensor)
        later = self.read.phase == "backward" and self.read.arrived(tensor) == "later"
        return self._add(key, node | {"tensor": tensor, "state": "now" if updating else "later" if later else "done"})

    def _end(self, tensor: str) -> int:
        record = self.trace.record(tensor)
        maker = self.makers[tensor]
        state = "done" if self.read.phase == "backward" else self.read.reached(maker)
        node = self._node("end", record.symbol, f"result {record.symbol}, {tensor}")
        return self._add(f"end {tensor}", node | {"tensor": tensor, "state": state})

    def _node(self, kind: str, text: str, said: str) -> dict[str, Any]:
        return {"kind": kind, "text": text, "said": said, "step": None, "tensor": None, "note": "", "state": "done"}

    def _operation(self, step: Step) -> dict[str, Any]:
        back = self.undone.get(step.index)
        backward = self.read.phase == "backward"
        state = self.read.reached(*filter(None, [back])) if backward else self.read.reached(step)
        node = self._node("operation", _name(step), f"{step.symbol}, step {step.index + 1}")
        shown = back.index if backward and back else step.index
        return node | {"step": shown, "state": state, "note": step.note, "tensor": step.output}

    def _connect(self, source: int, target: int, tensor: str, port: int, step: Step | None, role: str) -> None:
        sent = self._sent(tensor, step, role)
        placed = label(self.read, self.selection, tensor, sent)
        maker = self.makers.get(tensor)
        backward = self.read.phase == "backward"
        back = self.undone.get(step.index) if step else None
        gradient_state = "later" if self.read.phase in ("forward", "loss") else "done"
        if backward and back is not None:
            gradient_state = self.read.reached(back) if sent else "later"
        now = self.read.step
        record = self.trace.record(tensor)
        self.edges.append(
            {
                "source": source,
                "target": target,
                "tensor": tensor,
                "symbol": record.symbol,
                "port": port,
                "label": placed,
                "state": "done" if backward or maker is None else self.read.reached(maker),
                "gradient_state": gradient_state,
                "flow": "back" if sent else "forward only",
                "hot": now is not None
                and step is not None
                and step.index in (now.index, now.forward if sent else None),
                "updating": self.read.updating(tensor),
                "selected": self.selection.tensor == tensor,
                "changed": any(cell["changed"] for cell in placed["cells"]) or self._differs(tensor),
                "said": ", ".join([*(head["text"] for head in placed["headers"]), tensor]),
                "cell": self._first_cell(tensor),
            }
        )

    def _sent(self, tensor: str, step: Step | None, role: str) -> str | None:
        """The tensor that holds what comes back along an edge; the whole gradient where no step says its part."""
        back = self.undone.get(step.index) if step else None
        if back is not None and back.sends:
            return next((sent.tensor for sent in back.sends if sent.role == role), None)
        return self.read.gradient_name(tensor)

    def _differs(self, tensor: str) -> bool:
        baseline = self.read.baseline
        if baseline is None or tensor not in baseline.tensors:
            return False
        old, new = baseline.tensors[tensor].value, self.trace.tensors[tensor].value
        return old.shape == new.shape and old.tolist() != new.tolist()

    def _first_cell(self, tensor: str) -> str:
        """The cell that a link on a tensor's shape selects: the selected one if it is the tensor's, else its first."""
        if self.selection.tensor == tensor and self.selection.index:
            return f"{tensor}[{','.join(map(str, self.selection.index))}]"
        shape = self.read.shape(tensor)
        return f"{tensor}[{','.join('0' * len(shape))}]" if shape else tensor

    def _details(self) -> dict[str, Any] | None:
        """The selected tensor's numbers, where its edge only has room for its shape."""
        short = any(edge["selected"] and edge["label"]["shape"] for edge in self.edges)
        return details(self.read, self.selection.tensor) if short and self.selection.tensor else None

    def _layout(self, direction: str) -> dict[str, Any]:
        plan = Plan(
            tuple((*_size(node), node["kind"] not in ("operation", "end")) for node in self.nodes),
            tuple(
                (edge["source"], edge["target"], edge["label"]["width"], edge["label"]["height"], edge["port"])
                for edge in self.edges
            ),
        )
        laid = lay_out(plan, direction)
        edges = [
            {"path": edge.path, "label": edge.label.data(), "tail": _point(edge.tail), "tip": _point(edge.tip)}
            for edge in laid.edges
        ]
        nodes = [box.data() for box in laid.nodes]
        return {"width": round(laid.width, 1), "height": round(laid.height, 1), "nodes": nodes, "edges": edges}

    def _summary(self) -> str:
        leaves = [node for node in self.nodes if node["kind"] in ("input", "parameter")]
        count = len(self.steps)
        operations = f"{count} operation{'' if count == 1 else 's'}"
        return f"Computation graph: {operations}, {len(leaves)} leaves. Values and gradients are on the edges."


def _size(node: dict[str, Any]) -> tuple[float, float]:
    return (max(28.0, len(node["text"]) * CHARACTER + (14 if node["kind"] == "operation" else 12)), 28.0)


def _name(step: Step) -> str:
    """An operation's short name: linear, relu, ÷ 2; an intervention's own words."""
    if step.note == "intervention":
        return step.symbol if len(step.symbol) <= 12 else "intervention"
    other = step.attributes.get("other")
    if step.op in _SIGNS and isinstance(other, int | float):
        return f"{_SIGNS[step.op]} {other:g}"
    return step.op.replace("_", " ")


def _point(point: tuple[float, float]) -> list[float]:
    return [round(point[0], 1), round(point[1], 1)]
