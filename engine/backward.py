"""Gradients of every recorded tensor in one backward, and the steps that show how they come about.

The gradient of a tensor comes from autograd, through edges pinned when the tensor was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from engine.contributions import Contribution
from engine.entry import Entry
from engine.labels import tex_symbol
from engine.trace import Operand, Sent, Step, TensorRecord


def gradients(loss: Entry, entries: Sequence[Entry], *, retain_graph: bool = False) -> dict[int, torch.Tensor]:
    """d loss / d entry by id(entry), for those the loss has a path to. loss: one number, with an edge."""
    edges = {id(entry): entry.edge for entry in entries if entry.edge is not None}
    one = torch.ones_like(loss.value)
    found = torch.autograd.grad(loss.edge, list(edges.values()), one, retain_graph=retain_graph, allow_unused=True)  # type: ignore[arg-type]  # edges and leaves
    return {key: value for key, value in zip(edges, found, strict=True) if value is not None}


def gradient_record(name: str, record: TensorRecord, value: torch.Tensor) -> TensorRecord:
    """The record of a gradient (or a part of one) of a tensor."""
    return TensorRecord(name, f"∂L/∂{record.symbol}", "gradient", record.axes, value.detach())


def backward_step(
    step: Step, index: int, sent: Sequence[Contribution], records: dict[str, TensorRecord]
) -> tuple[Step, list[TensorRecord]]:
    """The step that undoes `step`, and the gradient records it names; adds its parts to `records`."""
    sends, fresh = [], []
    for one in sent:
        operand = records[one.entry.name]
        name = f"{operand.name}.grad@{index}"
        if name in records:
            name = f"{name}:{one.role}"
        records[name] = gradient_record(name, operand, one.value)
        fresh += [records[f"{operand.name}.grad"], records[name]]
        sends.append(Sent(one.role, name, f"{operand.name}.grad"))
    arriving = [
        Operand("arriving" if number == 0 else f"arriving.{number}", gradient)
        for number, output in enumerate(step.outputs)
        if (gradient := records[output].gradient) is not None
    ]
    fresh = [*(records[one.tensor] for one in arriving), *fresh]
    symbols = dict.fromkeys(records[one.to].symbol for one in sends)
    backward = Step(
        index=index,
        phase="backward",
        op=step.op,
        name=f"{step.name}.backward",
        symbol=", ".join(symbols),
        scope=step.scope,
        tex=",\\ ".join(map(tex_symbol, symbols)),
        inputs=(*arriving, *step.inputs),
        outputs=tuple(one.tensor for one in sends),
        attributes=step.attributes,
        forward=step.index,
        sends=tuple(sends),
        note=step.note,
    )
    return backward, fresh
