"""The run that a state asks for, as a request in the API's form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.space import TARGET, Place

if TYPE_CHECKING:
    from app.state import State


def of(state: State) -> dict[str, Any]:
    """The default request with what the state changes."""
    space = state.space
    request = dict(space.request)
    inputs = {name: _given(state, name) for name in space.inputs}
    if TARGET in inputs:
        target = inputs.pop(TARGET)
        request["target"] = target[0] if state.rows == 1 and space.inputs[TARGET].size == 1 else target
    request["inputs"] = inputs
    edits = [place for place in state.cells if place[0] in space.parameters]
    kept = [one for one in request.get("edits", ()) if (one["parameter"], tuple(one["index"])) not in edits]
    request["edits"] = kept + [
        {"parameter": name, "index": list(index), "value": state.cells[name, index]} for name, index in edits
    ]
    request["interventions"] = list(request.get("interventions", ())) + [
        _intervention(state, place, *switch) for place, switch in state.switches.items()
    ]
    request["options"] = {**request.get("options", {}), **state.options}
    frozen = [
        {"parameter": name, "index": None if index is None else list(index)}
        for name, index in space.ordered(state.frozen)
    ]
    update = space.request.get("update") or {"rule": "sgd"}
    request["update"] = {**update, "learning_rate": state.rate, "frozen": frozen}
    return request


def _given(state: State, name: str) -> list[Any]:
    """An input as a request has it: one example's row, or a list of rows; of one column, a list of its values."""
    given = state.space.inputs[name]
    rows = [[given.said(state.value(name, (row, at))) for at in range(given.size)] for row in range(state.rows)]
    if state.rows == 1:
        return rows[0]
    return [row[0] for row in rows] if name == TARGET and given.size == 1 else rows


def _intervention(state: State, place: Place, kind: str, number: float) -> dict[str, Any]:
    name, index = place
    return {"at": name, "index": [None] * (state.rows > 1) + list(index), "set" if kind == "off" else kind: number}
