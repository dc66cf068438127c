"""The current step as matrices: operands and result side by side, with axis names and sizes."""

from __future__ import annotations

from collections.abc import Sequence

from app.page import chain_rule
from app.page.pictured import pictured
from app.page.run import Data, Run, axes_data
from app.picture import grid_of
from engine.trace import Axis, Index, Step

MAX_ROWS = 16
MAX_COLUMNS = 16
_SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "mse_loss": "and"}


def matrices(run: Run) -> Data | None:
    """{label, formulas, figures: [figure or sign]}; a figure: {tensor, symbol, axes, role, part, rows: [[cell]], more}.

    formulas: LaTeX; several for a step that sends several gradients. averaged: what N is in them, or None.

    Of a tensor whose last axis is a grid the figure is app.page.pictured's.

    part: operand, result; arriving, local, sent in backward; parameter, gradient, rate, updated in an update.
    """
    step = run.step
    if step is None:
        return None
    draw = {"backward": _backward, "update": _update}.get(step.phase, _forward)
    formulas = chain_rule.formulas(run.trace, step) or [step.tex]
    data: Data = {"label": step.symbol, "formulas": [one for one in formulas if one], "figures": draw(run, step)}
    return data | {"averaged": chain_rule.averaged(run.trace, step)}


def _forward(run: Run, step: Step) -> list[Data]:
    roles = {operand.role: operand.tensor for operand in step.inputs}
    if step.op == "linear":
        return _linear(run, step, roles)
    figures: list[Data] = []
    for role, tensor in roles.items():
        if figures:
            figures.append(_sign(_SIGNS.get(step.op, ",")))
        figures.append(_figure(run, tensor, role, "operand"))
    sign = "=" if len(roles) > 1 and step.op in _SIGNS and step.op != "mse_loss" else "→"
    return [*figures, _sign(sign), *(_figure(run, output, "result", "result") for output in step.outputs)]


def _linear(run: Run, step: Step, roles: dict[str, str]) -> list[Data]:
    """One example: W x + b = z, columns. Several: X Wᵀ + 1bᵀ = Z, an example a row."""
    examples = len(run.trace.tensors[roles["input"]].shape) > 1
    weight = _figure(run, roles["weight"], "weight", "operand", turned=examples)
    given = _figure(run, roles["input"], "input", "operand")
    figures = [given, _sign("×"), weight] if examples else [weight, _sign("×"), given]
    if "bias" in roles:
        bias = _figure(run, roles["bias"], "bias", "operand")
        if examples:
            rows = run.trace.tensors[roles["input"]].shape[0]
            flat = [row[0] for row in bias["rows"]]
            axes = [{"name": "example", "size": rows}, *bias["axes"]]
            bias |= {"rows": [flat] * min(rows, MAX_ROWS), "axes": axes, "symbol": f"1{bias['symbol']}ᵀ"}
        figures += [_sign("+"), bias]
    return [*figures, _sign("="), _figure(run, step.output, "result", "result")]


def _backward(run: Run, step: Step) -> list[Data]:
    figures: list[Data] = []
    sent = dict.fromkeys(one.tensor for one in step.sends)
    for operand in step.inputs:
        if step.op == "linear" and operand.role == "bias":  # nothing that is sent depends on it
            continue
        part = "arriving" if operand.role.startswith("arriving") else "local"
        if part == "local" and figures and figures[-1]["part"] == "arriving":
            figures.append(_sign("with"))
        figures.append(_figure(run, operand.tensor, operand.role, part))
    figures.append({"part": "break"})
    figures.append(_sign("→"))
    return figures + [_figure(run, name, "sent", "sent") for name in sent]


def _update(run: Run, step: Step) -> list[Data]:
    roles = {operand.role: operand.tensor for operand in step.inputs}
    frozen = _frozen(run, roles.pop("frozen", None))
    parts = {"learning_rate": "rate", "corrected_rate": "rate"}
    figures = [_figure(run, tensor, role.replace("_", " "), parts.get(role, role)) for role, tensor in roles.items()]
    last = step.op in ("sgd", "adamw")
    updated = _figure(
        run, step.output, *(("new parameter", "updated") if last else ("result", "result")), frozen=frozen
    )
    if step.op == "sgd":
        parameter, gradient, rate = figures
        return [parameter, _sign("−"), rate, _sign("×"), gradient, _sign("="), updated]
    listed = [one for figure in figures for one in (_sign(","), figure)]
    return [*listed[1:], _sign("→"), updated]


def _figure(
    run: Run, tensor: str, role: str, part: str, *, turned: bool = False, frozen: frozenset[Index] = frozenset()
) -> Data:
    """A tensor as rows of cells: a vector is a column; of more than two axes the first slice is drawn.

    turned: transposed, with a raised T on its symbol.
    """
    record = run.trace.tensors[tensor]
    axes = record.axes
    if (grid := grid_of(run.trace, record)) is not None:
        return pictured(run, record, grid) | {"role": role, "part": part}
    leading = (0,) * max(0, len(axes) - 2)
    height, width = (*record.shape, 1, 1)[:2] if len(axes) < 2 else record.shape[-2:]
    if turned:
        height, width = width, height

    def index(row: int, column: int) -> Index:
        if len(axes) < 2:
            return (row,)[: len(axes)]
        return (*leading, column, row) if turned else (*leading, row, column)

    rows = []
    for row in range(min(height, MAX_ROWS)):
        places = [index(row, column) for column in range(min(width, MAX_COLUMNS))]
        rows.append([run.cell(tensor, place) | ({"frozen": True} if place in frozen else {}) for place in places])
    shown: list[Axis] = list(reversed(axes)) if turned else list(axes)
    return {
        "tensor": tensor,
        "symbol": record.symbol + ("ᵀ" if turned else ""),
        "axes": axes_data(shown),
        "role": role,
        "part": part,
        "rows": rows,
        "more": _more(height, width, axes[: len(leading)]),
    }


def _more(height: int, width: int, leading: Sequence[Axis]) -> str:
    """What is left out of a figure, in words; empty where nothing is."""
    said = [f"{axis.name} 1 of {axis.size}" for axis in leading]
    if height > MAX_ROWS:
        said.append(f"the first {MAX_ROWS} of {height} rows")
    if width > MAX_COLUMNS:
        said.append(f"the first {MAX_COLUMNS} of {width} columns")
    return ", ".join(said)


def _frozen(run: Run, mask: str | None) -> frozenset[Index]:
    if mask is None:
        return frozenset()
    return frozenset(map(tuple, run.trace.tensors[mask].value.nonzero().tolist()))


def _sign(text: str) -> Data:
    return {"part": "sign", "text": text}
