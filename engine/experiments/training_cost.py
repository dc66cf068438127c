"""What a training step keeps in memory and how much it computes, counted from its trace, step by step.

Parameters are left out of the memory, and what an operation needs only while it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.expression import Expr, leaves
from engine.ops.table import rows
from engine.reader import StepReader
from engine.trace import Step, Trace

PRODUCTS = ("linear", "matmul", "addmm")


@dataclass(frozen=True)
class Kept:
    """A tensor that has to stay until a backward step has read it.

    made, read: the indices of the step that makes it (-1 for what is given) and of the last one that reads it.
    """

    tensor: str
    size_bytes: int
    made: int
    read: int


def countable(trace: Trace) -> bool:
    """Whether every step that goes back has a row in the table of operations: no intervention, nothing opaque."""
    return all(one.op in rows() for one in trace.steps if one.phase == "backward")


def kept(trace: Trace) -> tuple[Kept, ...]:
    """The inputs and activations that backward steps read, each once, however many names it has; no parameters.

    What a step reads is what its gradients' expressions name, and every index and mask. A ReLU only asks whether it was
    open, which its output says as well as its input; it keeps the output, as PyTorch does.
    """
    found: dict[int, Kept] = {}
    made = {output: one.index for one in trace.steps if one.phase in ("forward", "loss") for output in one.outputs}
    for one in trace.steps:
        if one.phase != "backward":
            continue
        for name in read_by(trace, one):
            value = trace[name]
            key, size = value.untyped_storage().data_ptr(), value.numel() * value.element_size()
            earlier = found.get(key)
            first = made.get(name, -1)
            if earlier is not None:
                name, first, size = earlier.tensor, min(first, earlier.made), max(size, earlier.size_bytes)
            found[key] = Kept(name, size, first, one.index)
    return tuple(sorted(found.values(), key=lambda each: (each.made, each.tensor)))


def read_by(trace: Trace, backward: Step) -> list[str]:
    """The tensors that a backward step reads besides gradients and parameters, in the order it names them."""
    forward = trace.steps[backward.forward if backward.forward is not None else -1]
    names: list[str] = []
    if forward.op == "relu":
        names.append(forward.output)
    else:
        for sent in backward.sends:
            names += [leaf.tensor for leaf in leaves(_sent(trace, forward, sent.role)) if leaf.tensor]
        names += [one.tensor for one in forward.inputs if not trace[one.tensor].is_floating_point()]
    kinds = ("input", "activation", "constant")
    return [name for name in dict.fromkeys(names) if trace.record(name).kind in kinds]


def _sent(trace: Trace, forward: Step, role: str) -> Expr:
    """What a step sends back to the first cell of an operand."""
    first = (0,) * trace[forward.operand(role)].dim()
    return rows()[forward.op].grad_cell(StepReader(trace, forward), role, first)


@dataclass(frozen=True)
class Moment:
    """What lies in memory once a step is done, in bytes, besides parameters.

    kept: for backward steps to come. passing: gradients of activations on their way. gradients: of parameters, until
    the last update.
    """

    kept: int
    passing: int
    gradients: int

    @property
    def total(self) -> int:
        return self.kept + self.passing + self.gradients


def moments(trace: Trace) -> tuple[Moment, ...]:
    """A moment a step of the trace."""
    held, passing, gradients = kept(trace), _passing(trace), _parameters(trace)
    return tuple(Moment(*(_bytes(each, one.index) for each in (held, passing, gradients))) for one in trace.steps)


def peak(trace: Trace) -> int:
    """Most bytes that were kept for backward at once."""
    held = kept(trace)
    return max(_bytes(held, one.index) for one in trace.steps)


def _bytes(held: Iterable[Kept], now: int) -> int:
    return sum(one.size_bytes for one in held if one.made <= now < one.read)


def _passing(trace: Trace) -> list[Kept]:
    """Gradients of activations: from the first part that is sent to the step that hands them on."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for one in trace.steps:
        for operand in one.inputs:
            if one.phase == "backward" and operand.role.startswith("arriving"):
                last[operand.tensor] = one.index
        for sent in one.sends:
            first.setdefault(sent.to, one.index)
    return [Kept(name, _size(trace, name), first[name], end) for name, end in last.items() if name in first]


def _parameters(trace: Trace) -> list[Kept]:
    """Gradients of parameters: from the first part that is sent to the end of the step."""
    parameters = {one.gradient for one in trace.tensors.values() if one.kind == "parameter"}
    first: dict[str, int] = {}
    for one in trace.steps:
        for sent in one.sends:
            if sent.to in parameters:
                first.setdefault(sent.to, one.index)
    return [Kept(name, _size(trace, name), start, len(trace.steps)) for name, start in first.items()]


def _size(trace: Trace, name: str) -> int:
    value = trace[name]
    return value.numel() * value.element_size()


@dataclass(frozen=True)
class Flops:
    """Operations of one training step; a multiply-add is two.

    products: those of matrix products alone, 2 m k n each, forward and backward. spared: of the backward ones those
    that only give the gradient of an input, which training does not need. weights: parameters that take part in
    products.
    """

    forward: int
    backward: int
    update: int
    products: tuple[int, int]
    spared: int
    weights: int


def flops(trace: Trace) -> Flops:
    """Forward as the trace has it; a backward step by what its gradients' expressions compute, cell by cell."""
    total = {"forward": 0, "loss": 0, "update": 0}
    for one in trace.steps:
        if one.phase in total:
            total[one.phase] += one.flops
    ahead = [one for one in trace.steps if one.op in PRODUCTS and one.phase == "forward"]
    back = [(one, sent.role) for one in trace.steps if one.phase == "backward" for sent in one.sends]
    costs = [(one, role, backward_flops(trace, trace.steps[one.forward or 0], role)) for one, role in back]
    products = [(one, role, cost) for one, role, cost in costs if one.op in PRODUCTS and role != "bias"]
    multiplied = {one.operand(role) for one, role, _ in products if trace.record(one.operand(role)).kind == "parameter"}
    given = [cost for one, role, cost in products if trace.record(one.operand(role)).kind == "input"]
    return Flops(
        total["forward"] + total["loss"],
        sum(cost for *_, cost in costs),
        total["update"],
        (sum(_product(trace, one) for one in ahead), sum(cost for *_, cost in products)),
        sum(given),
        sum(trace[name].numel() for name in multiplied),
    )


def _product(trace: Trace, one: Step) -> int:
    """2 m k n of a product, without a bias that is added."""
    return one.flops - (trace[one.output].numel() if any(each.role == "bias" for each in one.inputs) else 0)


def backward_flops(trace: Trace, forward: Step, role: str) -> int:
    """Operations for the gradient that a step sends to one operand: for a factor of a product as many as forward."""
    if forward.op in PRODUCTS and role != "bias":
        return _product(trace, forward)
    return _operations(_sent(trace, forward, role)) * trace[forward.operand(role)].numel()


def _operations(tree: Expr) -> int:
    """Arithmetic of an expression as it is written: one operation between two numbers, one for a function."""
    own = {"sum": len(tree.args) - 1, "product": len(tree.args) - 1, "rest": tree.count or 0}
    single = ("quotient", "power", "exp", "log", "function", "compare")
    return own.get(tree.kind, int(tree.kind in single)) + sum(_operations(arg) for arg in tree.args)


@dataclass(frozen=True)
class Cut:
    """One place at which the forward run is cut, and its lower part computed again on the way back.

    after: the tensor it is cut at. peak: most bytes kept then. again: operations computed twice.
    """

    after: str
    peak: int
    again: int


def best_cut(trace: Trace) -> Cut:
    """The cut that needs the least: below it only what is given is kept, until the part above has gone back."""
    held = kept(trace)
    given = {one.tensor for one in held if one.made < 0}
    ahead = [one for one in trace.steps if one.phase == "forward"]
    readers = {one.forward: read_by(trace, one) for one in trace.steps if one.phase == "backward"}
    by_name = {one.tensor: one for one in held}
    found = []
    for place in ahead[:-1]:
        parts: tuple[set[str], set[str]] = (set(given), set(given))
        for forward, names in readers.items():
            parts[(forward or 0) > place.index].update(name for name in names if name in by_name)
        most = max(sum(by_name[name].size_bytes for name in part) for part in parts)
        again = sum(one.flops for one in ahead if one.index <= place.index)
        found.append(Cut(place.output, most, again))
    return min(found, key=lambda cut: (cut.peak, cut.again))
