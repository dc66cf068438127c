"""Example answers for the OpenAPI: computed from the tiny network's default run, cut to what shows the shape."""

from __future__ import annotations

from typing import Any

import engine
from app.answers import comparison_data, explanation_data, paths_data, verification_data
from app.models import describe_model
from app.wire import trace_data
from engine.models import catalogue

MODEL = "tiny_network"
_CELL = ("hidden.weight", (1, 0))


def answers() -> dict[str, Any]:
    """By operation id. Runs the model twice."""
    model = catalogue()[MODEL]
    trace = model.trace(model.defaults)
    edited = model.trace({"edits": [{"parameter": "readout.weight", "index": [0, 1], "value": 1}]})
    whole = trace_data(trace)
    short = {
        **whole,
        "steps": whole["steps"][:1],
        "tensors": {name: whole["tensors"][name] for name in ("hidden.preactivation", "hidden.weight.grad")},
    }
    bias = whole["tensors"]["hidden.bias"]
    compared = comparison_data(engine.compare(edited, trace))
    return {
        "list_models": {"models": [describe_model(MODEL, values=False)]},
        "get_model": describe_model(MODEL, values=True),
        "trace_model": short,
        "get_trace": short,
        "get_tensor": {key: bias[key] for key in ("name", "dtype", "shape", "data")},
        "explain_cell": explanation_data(engine.explain(trace, "hidden.preactivation", (1,)), trace),
        "verify_cell": verification_data(engine.verify(trace, *_CELL, what="gradient")),
        "gradient_paths": paths_data(engine.paths(trace, *_CELL)),
        "compare_traces": {**compared, "cells": compared["cells"][:3]},
    }
