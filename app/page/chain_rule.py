r"""The formulas of a backward step: what it sends to each operand, from what arrives and the local derivatives.

Columns where a run has one example, rows where it has several, as in the forward formulas. What has no row of its own
here is written as the chain rule itself: the transposed Jacobian times what arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.labels import tex_symbol
from engine.ops import notation
from engine.trace import Step, TensorRecord, Trace

Symbols = Mapping[str, str]  # LaTeX by role, and what arrives under "arriving"
Written = Callable[[Symbols, bool], str]  # rows: whether there are several examples


def formulas(trace: Trace, step: Step) -> list[str]:
    r"""LaTeX, one formula a gradient that a backward step sends to: \frac{∂L}{∂h} = v^{\top} \frac{∂L}{∂\hat{y}}.

    Where several steps send to one gradient, each adds its part: +=. Empty for a step of another phase.
    """
    if step.phase != "backward" or step.forward is None:
        return []
    forward = trace.steps[step.forward]
    symbols = {operand.role: tex_symbol(trace.tensors[operand.tensor].symbol) for operand in step.inputs}
    output = trace.tensors[forward.output]
    rows = len(output.shape) > 1
    senders = [sent.to for other in trace.steps for sent in other.sends]
    found = []
    for sent in step.sends:
        to = trace.tensors[sent.to]
        relation = "=" if senders.count(sent.to) == 1 else r"\mathrel{+}="
        if forward.op == "mse_loss":
            right = _squared_error(sent.role, symbols, r"\frac{2}{N}" if averaged(trace, step) else "2")
        else:
            right = _right(trace, forward, sent.role, symbols, rows, output)
        found.append(f"{tex_symbol(to.symbol)} {relation} {right}")
    return found


def averaged(trace: Trace, step: Step) -> int | None:
    """How many numbers the mean is over that a backward step undoes: N in its formula. None where there is no N."""
    forward = trace.steps[step.forward] if step.phase == "backward" and step.forward is not None else None
    if forward is None or forward.op != "mse_loss" or forward.attributes.get("reduction", "mean") != "mean":
        return None
    count = trace.tensors[forward.inputs[0].tensor].value.numel()
    return count if count > 1 else None


def _right(trace: Trace, forward: Step, role: str, symbols: Symbols, rows: bool, output: TensorRecord) -> str:
    if forward.op in ("div", "mul") and isinstance(other := forward.attributes.get("other"), int | float):
        factor = notation.number(other)
        return (rf"\frac{{1}}{{{factor}}}" if forward.op == "div" else factor) + f" {symbols['arriving']}"
    known = _TABLE.get((forward.op, role))
    if known is not None and all(":" not in trace.tensors[operand.tensor].symbol for operand in forward.inputs):
        return known(symbols, rows)
    jacobian = rf"\frac{{\partial {tex_symbol(output.symbol)}}}{{\partial {symbols[role]}}}"
    return rf"\left({jacobian}\right)^{{\top}} {symbols['arriving']}"


def _squared_error(role: str, symbols: Symbols, share: str) -> str:
    """The derivative of the mean (or, with share 2, the sum) of (input - target)^2, by either."""
    first, second = ("input", "target") if role == "input" else ("target", "input")
    return rf"{share} ({symbols[first]} - {symbols[second]}) {symbols['arriving']}"


_TABLE: dict[tuple[str, str], Written] = {
    ("linear", "input"): lambda s, rows: (
        f"{s['arriving']} {s['weight']}" if rows else rf"{s['weight']}^{{\top}} {s['arriving']}"
    ),
    ("linear", "weight"): lambda s, rows: (
        rf"\left({s['arriving']}\right)^{{\top}} {s['input']}" if rows else rf"{s['arriving']} {s['input']}^{{\top}}"
    ),
    ("linear", "bias"): lambda s, rows: (
        rf"\left({s['arriving']}\right)^{{\top}} \mathbf{{1}}" if rows else s["arriving"]
    ),
    ("relu", "input"): lambda s, _: rf"{s['arriving']} \odot [{s['input']} > 0]",
    ("identity", "input"): lambda s, _: s["arriving"],
    ("add", "input"): lambda s, _: s["arriving"],
    ("mul", "input"): lambda s, _: rf"{s['other']} \odot {s['arriving']}",
    ("mul", "other"): lambda s, _: rf"{s['input']} \odot {s['arriving']}",
}
