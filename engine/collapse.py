"""Two linear layers with nothing between them are one: its weight is v W, its bias v b + c.

Run as a model of its own, so that every number of the one layer is a recorded product and explains itself.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.errors import InputError
from engine.run import trace as record
from engine.tap import tap
from engine.trace import Trace

_PARTS = ("hidden.weight", "hidden.bias", "readout.weight", "readout.bias")


class CollapsedNetwork(nn.Module):
    """prediction = (v W) x + (v b + c), with the parameters of the two layers kept apart.

    x: [input] or [example, input]; the prediction has one output in place of the inputs.
    """

    symbols: ClassVar = {
        "x": "x",
        "hidden.weight": "W",
        "hidden.bias": "b",
        "readout.weight": "v",
        "readout.bias": "c",
        "collapsed.weight": "vW",
        "collapsed.bias": "vb+c",
        "prediction": "ŷ",
    }
    axes: ClassVar = {
        "x": "input",
        "hidden.weight": "unit input",
        "hidden.bias": "unit",
        "readout.weight": "output unit",
        "readout.bias": "output",
    }

    def __init__(self, hidden: tuple[Tensor, Tensor], readout: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        self.hidden, self.readout = _linear(*hidden), _linear(*readout)

    def forward(self, x: Tensor) -> Tensor:
        weight = tap("collapsed.weight", self.readout.weight @ self.hidden.weight, "output input")
        bias = tap("collapsed.bias", self.readout(self.hidden.bias), "output")
        return tap("prediction", F.linear(x, weight, bias), "output")


def collapse(trace: Trace) -> Trace:
    """The run of the one layer that a two-layer run's parameters make without an activation, on the same inputs.

    trace: a run with input x and layers `hidden` and `readout`; edits of its parameters are in it. Raises InputError
    for a run without them.
    """
    missing = [name for name in ("x", *_PARTS) if name not in trace.tensors]
    if missing:
        raise InputError("trace", f"have x, {', '.join(_PARTS)}", f"none named {', '.join(missing)}")
    weight, bias, readout_weight, readout_bias = (trace[name] for name in _PARTS)
    module = CollapsedNetwork((weight, bias), (readout_weight, readout_bias))
    return record(module, {"x": trace["x"]}, backward=False, name="collapsed_network", title="One layer instead of two")


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """A layer that holds these tensors."""
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight, layer.bias = nn.Parameter(torch.clone(weight)), nn.Parameter(torch.clone(bias))
    return layer
