"""What can be taken away: the permanent link, and the same run from a shell, from Python and as JSON."""

from __future__ import annotations

import shlex

import orjson

from app.page.run import Data, Run
from engine.models import catalogue


def take(run: Run, origin: str) -> Data:
    """{link, json, curl, python, request, file, trace}; origin: the site's address without a closing slash.

    link leaves out what the reader answered to the exercises.
    """
    request = {key: value for key, value in run.trace.request.items() if value not in (None, [], {})}
    curl, python = _recipes(run.trace.model.get("name"), request, run.trace.id, f"{origin}/api/v1")
    path, mark, query = run.state.address.partition("?")
    return {
        "link": run.state.link(answers=None),
        "json": f"{path}.json{mark}{query}",
        "curl": curl,
        "python": python,
        "request": orjson.dumps(request, option=orjson.OPT_INDENT_2).decode(),
        "file": f"/api/v1/traces/{run.trace.id}/file",
        "trace": f"/traces/{run.trace.id}",
    }


def _recipes(model: str | None, request: Data, trace_id: str, api: str) -> tuple[str, str]:
    """The run again from a shell and from Python; of a model that this site does not have, the stored run."""
    if model not in catalogue():
        address = f"{api}/traces/{trace_id}"
        return f"curl {address}", _IN_PYTHON.format(made="", call=f'get("{address}")')
    address = f"{api}/models/{model}/trace"
    body = shlex.quote(orjson.dumps(request).decode())
    curl = f"curl {address} \\\n  -H 'Content-Type: application/json' \\\n  -d {body}"
    lines = ",\n".join(f"    {key!r}: {value!r}" for key, value in request.items())
    return curl, _IN_PYTHON.format(made=f"request = {{\n{lines},\n}}\n", call=f'post("{address}", json=request)')


_IN_PYTHON = """\
import httpx

{made}trace = httpx.{call}.raise_for_status().json()
print(trace["result"])
"""
