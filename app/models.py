"""What can be traced, and tracing it: a request in, a trace out, whole or in JSON lines."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from app import answer_schemas as answers
from app import responses
from app.jobs import Job
from app.limits import StrictRoute
from app.schemas import Name, TraceRequest, as_request
from app.services import Services, Shared, estimate_flops, find_model, parameter_count, run
from app.streams import RequestStreams, wanted_lines
from app.wire import API, INLINE_VALUES, dumps, links, plain, result_data, tensor_data, trace_data
from engine.manifest import step_data
from engine.manifest import tensor_data as describe
from engine.models import catalogue
from engine.models.fields import InputField
from engine.models.model import Model
from engine.trace import Step, TensorRecord, Trace

router = APIRouter(prefix=API, tags=["models"], route_class=StrictRoute)

ModelName = Annotated[Name, Path(description="A model's name.", examples=["tiny_network"])]


@router.get(
    "/models", operation_id="list_models", summary="What can be traced", responses=responses.json(answers.Models)
)
async def list_models() -> Response:
    """Every model with its inputs, options, parameters, activations that can be replaced, and the cost of one row."""
    models = [describe_model(model.name, values=False) for model in catalogue().values()]
    return Response(dumps({"models": models}), media_type="application/json")


@router.get(
    "/models/{model}", operation_id="get_model", summary="One model", responses=responses.json(answers.ModelDescription)
)
async def get_model(model: ModelName) -> Response:
    """One model as in the list, with the values of its parameters."""
    find_model(model)
    return Response(dumps(describe_model(model, values=True)), media_type="application/json")


@router.post(
    "/models/{model}/trace",
    operation_id="trace_model",
    summary="Run a model and record every step",
    responses=responses.json(answers.TraceAnswer, lines=answers.TraceLine),
)
async def trace_model(
    model: ModelName, request: Request, services: Shared, streams: RequestStreams, body: TraceRequest | None = None
) -> Response:
    """Forward, loss, backward and, if asked for, one update.

    The answer has every tensor, every gradient and what each step sent. With `"stream": true`, or `Accept:
    application/jsonl` (or `application/x-ndjson`), it comes as JSON lines while the steps are computed: `open`, then
    `tensor` and `step` lines (a tensor before the step that made it; a later line of one name replaces the earlier),
    then `done` or `error`.
    """
    chosen = find_model(model)
    wanted = as_request(body or TraceRequest())
    estimate = estimate_flops(chosen, wanted)
    if (body and body.stream) or wanted_lines(request):
        return await streams.respond(functools.partial(stream_trace, services, chosen, wanted), estimate_flops=estimate)
    trace_id, content = await run(services, lambda _: _traced(services, chosen, wanted), estimate_flops=estimate)
    return Response(content, 200, _headers(trace_id), "application/json")


def stream_trace(
    services: Services, model: Model, wanted: Mapping[str, Any], job: Job, emit: Callable[[dict[str, Any]], None]
) -> None:
    """Emits a run as lines while it is computed. Raises InputError, RunError, Cancelled."""
    sent: dict[str, TensorRecord] = {}
    opened = False

    def send_tensor(record: TensorRecord, trace_id: str) -> None:
        sent[record.name] = record
        emit({"type": "tensor", "tensor": tensor_data(record, trace_id)})

    def on_step(step: Step, fresh: list[TensorRecord]) -> None:
        nonlocal opened
        job.check()
        if not opened:
            opened = True
            emit({"type": "open", "model": {"name": model.name, "title": model.title}, "request": plain(wanted)})
        for record in fresh:
            if sent.get(record.name) is not record and record.value.numel() <= INLINE_VALUES:
                send_tensor(record, "")
        emit({"type": "step", "step": step_data(step)})

    trace = model.trace(wanted, on_step=on_step)
    keep(services, trace)
    for record in trace.tensors.values():
        if sent.get(record.name) is not record:
            send_tensor(record, trace.id)
    emit({
        "type": "done",
        "schema": trace.schema,
        "id": trace.id,
        "request": plain(trace.request),
        "model": plain(trace.model),
        "result": result_data(trace.result),
        "links": links(trace),
    })  # fmt: skip


def keep(services: Services, trace: Trace) -> None:
    """Stores a trace that was just computed, and counts it."""
    services.store.put(trace)
    services.counters.trace(str(trace.model["name"]))


def _traced(services: Services, model: Model, wanted: Mapping[str, Any]) -> tuple[str, bytes]:
    trace = model.trace(wanted)
    keep(services, trace)
    return trace.id, dumps(trace_data(trace))


def _headers(trace_id: str) -> dict[str, str]:
    return {"etag": f'"{trace_id}"', "location": f"{API}/traces/{trace_id}", "cache-control": "no-store"}


@functools.cache
def describe_model(name: str, *, values: bool) -> dict[str, Any]:
    """What the model takes and holds. values: with the numbers of its parameters, inline where few."""
    model = catalogue()[name]
    trace = model.trace(model.defaults)
    records = list(trace.tensors.values())
    data: dict[str, Any] = {
        "name": model.name,
        "title": model.title,
        "summary": model.summary,
        "parameter_count": parameter_count(model),
        "parameters": [_tensor(record, values=values) for record in records if record.kind == "parameter"],
        "activations": [
            {key: value for key, value in describe(record).items() if key in ("name", "symbol", "axes")}
            for record in records
            if record.kind == "activation" and ":" not in record.name
        ],
        "inputs": [_field(field) for field in model.inputs],
        "target": None if model.target is None else _field(model.target),
        "labels": {axis: named if isinstance(named, str) else list(named) for axis, named in model.labels.items()},
        "options": [
            {"name": option.name, "title": option.title, "values": dict(option.values), "default": option.default}
            for option in model.options
        ],
        "defaults": model.defaults,
        "cost": {
            "forward_flops": sum(step.flops for step in trace.steps if step.phase in ("forward", "loss")),
            "estimate_flops": estimate_flops(model, model.defaults),
        },
        "links": {
            "self": f"{API}/models/{name}",
            "trace": f"{API}/models/{name}/trace",
            "train": f"{API}/models/{name}/train",
            "default_trace": f"{API}/traces/{trace.id}",
        },
    }
    return data


def _tensor(record: TensorRecord, *, values: bool) -> dict[str, Any]:
    data = tensor_data(record, "")
    keys = ["name", "symbol", "axes", "dtype", "stats", *(["data"] if values and "data" in data else [])]
    return {key: data[key] for key in keys}


def _field(field: InputField) -> dict[str, Any]:
    return {
        "name": field.name,
        "size": field.size,
        "default": list(field.default),
        "rows": field.rows,
        "limit": field.limit,
        "least": field.least if math.isfinite(field.least) else None,
        "words": list(field.words) or None,
    }
