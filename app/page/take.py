"""What can be taken away: the permanent link, and the same run from a shell, from Python and as JSON."""

from __future__ import annotations

import shlex

import orjson

from app.page.run import Data, Run


def take(run: Run, origin: str) -> Data:
    """{link, json, curl, python, request, file, trace}; origin: the site's address without a closing slash.

    link leaves out what the reader answered to the exercises.
    """
    request = {key: value for key, value in run.trace.request.items() if value not in (None, [], {})}
    body = orjson.dumps(request).decode()
    model = run.trace.model["name"]
    address = f"{origin}/api/v1/models/{model}/trace"
    path, mark, query = run.state.address.partition("?")
    return {
        "link": run.state.link(answers=None),
        "json": f"{path}.json{mark}{query}",
        "curl": f"curl {address} \\\n  -H 'Content-Type: application/json' \\\n  -d {shlex.quote(body)}",
        "python": _python(address, request),
        "request": orjson.dumps(request, option=orjson.OPT_INDENT_2).decode(),
        "file": f"/api/v1/traces/{run.trace.id}/file",
        "trace": f"/traces/{run.trace.id}",
    }


def _python(address: str, request: Data) -> str:
    lines = ",\n".join(f"    {key!r}: {value!r}" for key, value in request.items())
    return (
        "import httpx\n\n"
        f"request = {{\n{lines},\n}}\n"
        f'trace = httpx.post("{address}", json=request).raise_for_status().json()\n'
        'print(trace["result"])\n'
    )
