"""Traces by id: the whole record, single tensors in four encodings, the trace file, and files from elsewhere."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import FileResponse, Response

from app import answer_schemas as answers
from app import responses
from app.errors import invalid, missing
from app.limits import StrictRoute
from app.questions import TraceId
from app.services import Shared, find_trace, run, unknown_trace
from app.upload import uploaded_file
from app.wire import API, dumps, nonfinite_cells, to_numpy, trace_data
from engine.trace import TensorRecord, Trace

router = APIRouter(prefix=API, tags=["traces"], route_class=StrictRoute)
MAX_JSON_VALUES = 2**20
IMMUTABLE = "public, max-age=31536000, immutable"
TRACE_FILE = "application/vnd.longhand.trace+safetensors"

Encoding = Literal["json", "b64", "raw", "npy"]


@router.get(
    "/traces/{trace_id}",
    operation_id="get_trace",
    summary="A trace by its id",
    responses=responses.json(answers.TraceAnswer) | responses.NOT_MODIFIED,
)
async def get_trace(trace_id: TraceId, request: Request, services: Shared) -> Response:
    """The same answer as the request that made it. A trace never changes, so its ETag is its id."""
    headers = _cached(trace_id)
    trace = await find_trace(services, trace_id)
    if _unchanged(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    content = await run(services, lambda _: dumps(trace_data(trace)))
    return Response(content, 200, headers, "application/json")


@router.get(
    "/traces/{trace_id}/tensors/{name:path}",
    operation_id="get_tensor",
    summary="One tensor, or a slice of it",
    responses=responses.json_or_bytes(answers.TensorValues, "The values.") | responses.NOT_MODIFIED,
)
async def get_tensor(
    trace_id: TraceId,
    name: Annotated[str, Path(max_length=300, description="Its name.", examples=["hidden.weight.grad"])],
    request: Request,
    services: Shared,
    slice_text: Annotated[
        str,
        Query(
            alias="slice",
            max_length=200,
            description="An index or start:stop an axis, with commas; axes left out are whole.",
            examples=["0:2,1"],
        ),
    ] = "",
    digits: Annotated[
        int | None, Query(ge=1, le=17, description="Significant digits in JSON; all of them by default.", examples=[4])
    ] = None,
    enc: Annotated[
        Encoding,
        Query(
            description="json: nested lists. b64: base64 of little-endian bytes, with dtype and shape. "
            "raw: those bytes. npy: a NumPy file.",
            examples=["json"],
        ),
    ] = "json",
) -> Response:
    """The values as they were captured. In JSON what is not finite is null and listed in `nonfinite`; the binary
    encodings keep it. Kinds of number that NumPy lacks come as float32.
    """
    trace = await find_trace(services, trace_id)
    record = _tensor_of(trace, name)
    selection = read_slice(slice_text, record.shape)
    headers = _cached(f"{trace_id}.{_etag_part(name, slice_text, digits, enc)}")
    if _unchanged(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    response = await run(services, lambda _: _ENCODERS[enc](record, to_numpy(record)[selection], digits))
    response.headers.update(headers)
    return response


@router.get(
    "/traces/{trace_id}/file",
    operation_id="get_trace_file",
    summary="The trace as one .safetensors file",
    responses=responses.binary(TRACE_FILE, "The trace file.") | responses.NOT_MODIFIED,
)
async def get_trace_file(trace_id: TraceId, request: Request, services: Shared) -> Response:
    """Every tensor by name, the manifest as JSON in the file's metadata. Any safetensors reader opens it, and so does
    this site: send it to POST /traces.
    """
    path = await run(services, lambda _: services.store.file(trace_id))
    if path is None:
        raise unknown_trace(trace_id)
    headers = _cached(f"{trace_id}.file")
    if _unchanged(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    return FileResponse(path, headers=headers, media_type=TRACE_FILE, filename=f"{trace_id}.safetensors")


@router.post(
    "/traces",
    status_code=201,
    operation_id="open_trace_file",
    summary="Open a trace file",
    responses=responses.created(answers.TraceAnswer, "The opened trace."),
    openapi_extra=responses.upload(TRACE_FILE),
)
async def open_trace_file(request: Request, services: Shared) -> Response:
    """Takes a file that this site or `engine.save` wrote, as the body or as the one file of a form, and answers with
    its trace under an id of its own. Safetensors only: nothing in a file is ever executed.
    """
    content = await uploaded_file(request)

    def work() -> tuple[str, bytes]:
        trace = services.store.add_file(content)
        return trace.id, dumps(trace_data(trace))

    trace_id, body = await run(services, lambda _: work())
    headers = {"etag": f'"{trace_id}"', "location": f"{API}/traces/{trace_id}", "cache-control": "no-store"}
    return Response(body, 201, headers, "application/json")


def read_slice(text: str, shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """ "0,:,0:32" for a shape, as numpy's basic index. Raises Problem 422 naming what was expected and got."""
    if not text.strip():
        return ()
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > len(shape):
        raise invalid("slice", f"have at most {len(shape)} parts for shape {list(shape)}", len(parts))
    return tuple(_read_part(part, axis, size) for axis, (part, size) in enumerate(zip(parts, shape, strict=False)))


_PART = re.compile(r"(?:(?P<place>\d{1,10})|(?P<start>\d{0,10}):(?P<stop>\d{0,10})(?::(?P<step>\d{1,10}))?)", re.ASCII)


def _read_part(text: str, axis: int, size: int) -> int | slice:
    field = f"slice[{axis}]"
    found = _PART.fullmatch(text)
    if found is None:
        raise invalid(field, "be an index or start:stop, counted from 0", text)
    if found["place"] is not None:
        if int(found["place"]) >= size:
            raise invalid(field, f"be from 0 to {size - 1}", int(found["place"]))
        return int(found["place"])
    start, stop, step = int(found["start"] or 0), int(found["stop"] or size), int(found["step"] or 1)
    if start > size or stop > size:
        raise invalid(field, f"lie in 0:{size}", text)
    if step == 0:
        raise invalid(field, "have a step of at least 1", text)
    return slice(start, stop, step)


def _tensor_of(trace: Trace, name: str) -> TensorRecord:
    record = trace.tensors.get(name)
    if record is None:
        raise missing("tensor", name, trace.tensors)
    return record


def _json(record: TensorRecord, array: np.ndarray, digits: int | None) -> Response:
    array = np.asarray(array, order="C")
    if array.size > MAX_JSON_VALUES:
        raise invalid("slice", f"select at most {MAX_JSON_VALUES:,} values in JSON (raw has no limit)", array.size)
    data: dict[str, Any] = {"name": record.name, "dtype": record.dtype, "shape": list(array.shape)}
    found = nonfinite_cells(array)
    if digits is not None and array.dtype.kind == "f":
        array = _rounded(array, digits)
    data["data"] = array if array.ndim and array.flags.c_contiguous else array.tolist()
    if found:
        data["nonfinite"] = found
    return Response(dumps(data), media_type="application/json")


def _rounded(array: np.ndarray, digits: int) -> np.ndarray:
    """float64 values of `digits` significant digits."""
    flat = [float(f"{value:.{digits - 1}e}") for value in array.astype(np.float64).reshape(-1).tolist()]
    return np.array(flat, dtype=np.float64).reshape(array.shape)


def _base64(record: TensorRecord, array: np.ndarray, _: int | None) -> Response:
    data = {
        "name": record.name,
        "dtype": _little(array).dtype.str.lstrip("<|"),
        "shape": list(array.shape),
        "bdata": base64.b64encode(_little(array).tobytes()).decode("ascii"),
    }
    return Response(dumps(data), media_type="application/json")


def _raw(_record: TensorRecord, array: np.ndarray, _: int | None) -> Response:
    shape = ",".join(map(str, array.shape))
    headers = {"x-dtype": _little(array).dtype.str.lstrip("<|"), "x-shape": shape}
    return Response(_little(array).tobytes(), 200, headers, "application/octet-stream")


def _npy(record: TensorRecord, array: np.ndarray, _: int | None) -> Response:
    content = io.BytesIO()
    np.save(content, _little(array), allow_pickle=False)
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", record.name)
    headers = {"content-disposition": f'attachment; filename="{stem}.npy"'}
    return Response(content.getvalue(), 200, headers, "application/octet-stream")


_ENCODERS: dict[Encoding, Callable[[TensorRecord, np.ndarray, int | None], Response]] = {
    "json": _json,
    "b64": _base64,
    "raw": _raw,
    "npy": _npy,
}


def _little(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array, order="C")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _cached(tag: str) -> dict[str, str]:
    return {"etag": f'"{tag}"', "cache-control": IMMUTABLE, "vary": "accept-encoding"}


def _etag_part(*parts: Any) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", lambda found: f"~{ord(found[0]):x}", ".".join(map(str, parts)))


def _unchanged(request: Request, etag: str) -> bool:
    asked = request.headers.get("if-none-match", "")
    return asked.strip() == "*" or any(one.strip().removeprefix("W/") == etag for one in asked.split(","))
