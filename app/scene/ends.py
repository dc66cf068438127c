"""The end of the dense network's picture: the target, the error where the run has one, and the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.scene.cells import Cells
from app.scene.layers import Network
from app.scene.readings import Readings
from engine.trace import Index, Step


def nodes(network: Network, cells: Cells, example: int, examples: int) -> list[dict[str, Any]]:
    """Target, error and loss, where the run has them."""
    found = []
    read, made = cells.read, _made(cells.read)
    if network.target:
        shape = read.shape(network.target)
        index: Index = (example, *(0,) * (len(shape) - 1)) if examples > 1 else (0,) * len(shape)
        found.append(cells.node("target", network.target, index, "done"))
    if network.error:
        *made, last = made
        found.append(cells.node("error", network.error, (), read.shown(network.error, *made)))
        made = [last]
    if network.loss:
        found.append(cells.node("loss", network.loss, (), read.shown(network.loss, *made)))
    return found


def edges(
    network: Network, read: Readings, outputs: Sequence[int], ends: Sequence[dict[str, Any]], first: int
) -> list[dict[str, Any]]:
    """From every output, and from the target, into the error or the loss; from the error into the loss.

    outputs: numbers of the outputs' nodes; ends: what `nodes` gave, numbered from `first`.
    """
    places = {node["kind"]: number for number, node in enumerate(ends, first)}
    if "loss" not in places:
        return []
    made = _made(read)
    sources = [*outputs, *([places["target"]] if "target" in places else [])]
    sent = network.columns[-1].tensor
    if network.error is None:
        return [_edge(read, source, places["loss"], sent, made, ends[-1]["selected"]) for source in sources]
    *made, last = made
    into = [_edge(read, source, places["error"], sent, made, ends[-2]["selected"]) for source in sources]
    return [*into, _edge(read, places["error"], places["loss"], network.error, [last], ends[-1]["selected"])]


def _edge(read: Readings, source: int, target: int, sent: str, steps: Sequence[Step], part: bool) -> dict[str, Any]:
    """sent: the tensor whose gradient goes back along it."""
    return {
        "kind": "pass",
        "source": source,
        "target": target,
        "state": read.shown(sent) if read.phase == "backward" else read.reached(*steps),
        "hot": any(read.current(step) for step in steps),
        "part": part,
        "cut": False,
        "labelled": False,
    }


def _made(read: Readings) -> list[Step]:
    return [step for step in read.trace.steps if step.phase == "loss"]
