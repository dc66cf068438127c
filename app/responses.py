"""How routes say in the OpenAPI what they answer: by model, as lines, as bytes. openapi.py adds the error answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from app.streams import MEDIA_TYPES

Responses = dict[int | str, dict[str, Any]]
CONFLICT: Responses = {409: {"description": "The run is in another state."}}
NOT_MODIFIED: Responses = {304: {"description": "What the client has is still right."}}


def json(model: type[BaseModel], *, lines: type[BaseModel] | None = None) -> Responses:
    """A 200 of this model; lines: or, as JSON lines, of that one."""
    answer: dict[str, Any] = {"model": model, "description": "As asked."}
    if lines is not None:
        answer["content"] = _lines(lines)
    return {200: answer}


def only_lines(model: type[BaseModel]) -> Responses:
    return {200: {"description": "JSON lines.", "content": _lines(model)}}


def _lines(model: type[BaseModel]) -> dict[str, Any]:
    return {kind: {"schema": model.model_json_schema()} for kind in MEDIA_TYPES}


def created(model: type[BaseModel], description: str) -> Responses:
    return {201: {"model": model, "description": description}}


def accepted(model: type[BaseModel], description: str) -> Responses:
    return {202: {"model": model, "description": description}}


def binary(media_type: str, description: str) -> Responses:
    return {200: {"description": description, "content": {media_type: {"schema": _BYTES}}}}


def json_or_bytes(model: type[BaseModel], description: str) -> Responses:
    """By the encoding that is asked for."""
    content = {"application/octet-stream": {"schema": _BYTES}}
    return {200: {"model": model, "description": description, "content": content}}


def upload(media_type: str) -> dict[str, Any]:
    """A request body of bytes, or a form with one file."""
    form = {"type": "object", "properties": {"file": _BYTES}, "required": ["file"]}
    content = {
        "application/octet-stream": {"schema": _BYTES},
        media_type: {"schema": _BYTES},
        "multipart/form-data": {"schema": form},
    }
    return {"requestBody": {"required": True, "description": "A .safetensors trace file.", "content": content}}


_BYTES = {"type": "string", "format": "binary"}
