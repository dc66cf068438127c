"""One uploaded file out of a request: the body itself, or the single file of a multipart form.

The body limit stands before this (limits.py), so the whole of it fits in memory.
"""

from __future__ import annotations

import re

from fastapi import Request

from app.errors import Problem, invalid, shown

FIELD = "file"
_BINARY = re.compile(r"application/(octet-stream|vnd\.longhand\.trace\+safetensors)")
_BOUNDARY = re.compile(r'boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_NAME = re.compile(rb'(?:^|[;\s])name="?([^";\r\n]*)"?', re.IGNORECASE)


async def uploaded_file(request: Request) -> bytes:
    """The file's bytes. Raises Problem: 415 for another kind of body, 422 where there is no file in it."""
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        content = part_of_form(await request.body(), content_type)
    elif _BINARY.fullmatch(kind):
        content = await request.body()
    else:
        raise Problem(
            415, f"Content-Type must be application/octet-stream or multipart/form-data; got {shown(content_type)}"
        )
    if not content:
        raise invalid(FIELD, "be a trace file", content)
    return content


def part_of_form(body: bytes, content_type: str, wanted: str = FIELD) -> bytes:
    """The content of the part of this name of a multipart form. Raises Problem 422.

    Source: RFC 7578; parts are delimited by CRLF, two dashes and the boundary.
    """
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise invalid("Content-Type", "name a boundary", content_type)
    delimiter = b"\r\n--" + (found[1] or found[2]).encode("latin-1")
    names = []
    for part in (b"\r\n" + body).split(delimiter)[1:]:
        if part.startswith(b"--"):
            break
        head, separator, content = part.partition(b"\r\n\r\n")
        name = _part_name(head)
        if separator and name == wanted.encode():
            return content
        names.append((name or b"").decode("utf-8", "replace"))
    raise invalid(wanted, "be the name of a part of the form", ", ".join(names))


def _part_name(head: bytes) -> bytes | None:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-disposition:"):
            found = _NAME.search(line)
            return found[1] if found else None
    return None
