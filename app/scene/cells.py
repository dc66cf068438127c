"""What the pictures say of one cell: its number now, what it was, its gradient, and the same in words."""

from __future__ import annotations

from typing import Any

from app import numbers
from app.inline import cell_name
from app.scene.readings import Readings
from app.scene.selection import Selection
from engine.trace import Index

_LONG = 13


class Cells:
    """gradients: whether nodes show their gradient beside their value once it is there."""

    def __init__(self, read: Readings, selection: Selection, *, gradients: bool) -> None:
        self.read = read
        self.selection = selection
        self.gradients = gradients
        self.backward = read.phase == "backward"

    def node(self, kind: str, name: str, index: Index, state: str) -> dict[str, Any]:
        value, gradient = self.read.value(name, index), self.read.gradient(name, index)
        gradient_name = self.read.gradient_name(name)
        node: dict[str, Any] = {
            "kind": kind,
            "cell": cell_name(name, index),
            "label": self.read.label(name, index),
            "value": value,
            "before": self.read.before(name, index),
            "gradient": gradient,
            "gradient_cell": cell_name(gradient_name, index) if gradient_name else None,
            "gradient_before": self.read.before(gradient_name, index),
            "state": state,
            "selected": self.selection.has(name, index),
            "mark": None,
            "computed": None,
            "bias": None,
        }
        back = self.backward and kind != "target"
        node["top"] = f"∂L/∂{node['label']}" if back else node["label"]
        node["main"] = gradient if back else value
        was = node["gradient_before"] if back else node["before"]
        node["changed"] = was is not None
        if was is not None:
            node["sub"] = {"words": "was", "value": was}
        elif back:
            words = f"{node['label']} ="
            long = len(words) + len(numbers.text(value)) > _LONG - 2
            node["sub"] = {"words": "=" if long else words, "value": value}
        elif self.read.phase in ("update", "done") and gradient is not None and kind != "target" and self.gradients:
            node["sub"] = {"words": "∂", "value": gradient}
        else:
            node["sub"] = None
        node["said"] = said(node)
        return node

    def bias(self, name: str, unit: int) -> dict[str, Any]:
        bias = self.parameter(name, (unit,))
        signed = [part if "text" in part else {**part, "plus": not self.backward} for part in bias["parts"]]
        parts = [{"text": "∂ "}, *signed] if self.backward else signed
        return {**bias, "parts": parts, "characters": length(parts)}

    def parameter(self, name: str, index: Index) -> dict[str, Any]:
        """A weight or bias: what it is, was and becomes, and the parts of the text that says so now."""
        value, gradient = self.read.value(name, index), self.read.gradient(name, index)
        updated_name = self.read.updated(name)
        updated = self.read.value(updated_name, index) if updated_name else None
        frozen = self.read.frozen(name, index)
        main = gradient if self.backward else value
        parts: list[dict[str, Any]] = [{"value": main}]
        if self.read.updating(name):
            if frozen:
                parts.append({"text": " frozen"})
            elif updated is not None:
                parts = [{"value": value}, {"text": " → "}, {"value": updated}]
                if length(parts) > _LONG:
                    parts = parts[1:]
        elif updated is not None:
            parts = [{"value": updated}]
        gradient_name = self.read.gradient_name(name)
        before = self.read.before(gradient_name if self.backward else name, index)
        now = main if updated is None or self.backward else updated
        cell = {
            "cell": cell_name(name, index),
            "label": self.read.label(name, index),
            "value": value,
            "gradient": gradient,
            "gradient_cell": cell_name(gradient_name, index) if gradient_name else None,
            "before": before,
            "updated": updated,
            "frozen": frozen and updated is not None,
            "selected": self.selection.has(name, index),
            "changed": before is not None,
            "main": now,
            "sign": numbers.sign(now) or "none",
            "parts": parts,
            "characters": length(parts),
        }
        return cell | {"said": said_parameter(cell, self.backward)}


def classes(thing: dict[str, Any]) -> str:
    """How a node, an edge or a bias is drawn, as class names."""
    flags = [flag for flag in ("hot", "part", "selected", "changed", "frozen", "cut") if thing.get(flag)]
    return " ".join([*filter(None, (thing.get("sign"), thing.get("state"))), *flags])


def length(parts: list[dict[str, Any]]) -> int:
    """Characters of a label."""
    return sum(len(part["text"]) if "text" in part else _digits(part) for part in parts)


def room(parts: list[dict[str, Any]]) -> int:
    """Characters to leave for a label: in coarse steps, so that typing seldom moves anything."""
    return next((size for size in (4, 7) if length(parts) <= size), length(parts))


def _digits(part: dict[str, Any]) -> int:
    """Characters of a number; one more where a plus stands before it."""
    plus = part.get("plus") and part["value"] is not None and part["value"] >= 0
    return len(numbers.text(part["value"])) + bool(plus)


def said(node: dict[str, Any]) -> str:
    """A node in words, what is seen of it first and in that order: z₂ = 1, was 0, gradient −1.5."""
    marked = node["mark"] is not None and node["mark"] in node["top"]
    words = [f"{node['top']}{':' if marked else ' ='} {_number(node['main'])}"]
    sub = node["sub"] or {"words": None}
    if node["sub"]:
        words.append(f"{sub['words']} {_number(sub['value'])}".strip() + (" computed" if sub.get("struck") else ""))
    if node["mark"] and not marked:
        words.append(f"intervention {node['label']} {node['mark']}")
    if node["top"].startswith("∂"):
        if sub["words"] == "was":
            words.append(f"{node['label']} = {_number(node['value'])}")
    elif node["kind"] != "target" and sub["words"] != "∂":
        words.append("no gradient" if node["gradient"] is None else f"gradient {_number(node['gradient'])}")
    return ", ".join(words)


def said_parameter(cell: dict[str, Any], backward: bool) -> str:
    """A weight or bias in words: W₂₁ = 0.5, was 1, gradient −3. backward: what it was is the gradient's."""
    was = [] if cell["before"] is None else [f"was {_number(cell['before'])}"]
    mark = "∂ " if backward else ""
    gradient = "no gradient" if cell["gradient"] is None else f"gradient {mark}{_number(cell['gradient'])}"
    now = f"{cell['label']} = {_number(cell['value'])}"
    if cell["frozen"]:
        now += " frozen"
    elif cell["updated"] is not None:
        now += f" → {_number(cell['updated'])}"
    return ", ".join([now, *([gradient, *was] if backward else [*was, gradient])])


def _number(value: float | None) -> str:
    return "no path" if value is None else numbers.text(value)
