"""Every page of the site, and the states of each in which it is worth seeing.

Found by discovery: routes, lessons and models. What a stage can be set to is read off the page's own data.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from app import pages
from app.lessons import catalogue as lessons
from engine.models import catalogue as models

Data = Mapping[str, Any]


def plain_pages() -> list[str]:
    """The pages without a stage, by their routes: the home page, the list of models and so on."""
    return [path for path in _fixed_routes() if not path.endswith(".json")]


def has_data(path: str) -> bool:
    """Whether a page without a stage has data of its own at its address with .json."""
    return json_address(path) in _fixed_routes()


def _fixed_routes() -> list[str]:
    return [route.path for route in pages.router.routes if "GET" in route.methods and "{" not in route.path]


def lesson_pages() -> list[str]:
    """Every lesson's page."""
    return [f"/lessons/{slug}" for slug in lessons()]


def staged_pages() -> list[str]:
    """Every page with a stage and fields: each lesson, each model."""
    return lesson_pages() + [f"/models/{name}" for name in models()]


def json_address(address: str) -> str:
    """Where the data of a page is."""
    path, mark, query = address.partition("?")
    return f"{path}.json{mark}{query}"


def page_data(server: str, address: str) -> Data:
    """The data of a page, also of one that says what it could not read (422)."""
    try:
        with urllib.request.urlopen(f"{server}{json_address(address)}", timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code != 422:
            raise
        return json.load(error)


def stored_trace(server: str, address: str) -> str:
    """The page of the trace that another page's run left in the store."""
    return f"/traces/{page_data(server, address)['trace']['id']}"


def address(path: str, *parts: str) -> str:
    """A page in a state, its query's parts joined."""
    query = "&".join(part for part in parts if part)
    return f"{path}?{query}" if query else path


def runs(data: Data) -> dict[str, str]:
    """The runs worth seeing of a page: each as the part of a query that asks for it."""
    forms = data["forms"]
    fields = [field for group in forms["groups"] for row in group["rows"] for field in row]
    edited = "&".join(f"{field['name']}={_other(field, 0.37)}" for field in fields[::3])
    found = {"unedited": "", "edited": edited}
    if forms["switches"]:
        units = forms["switches"][-1]["units"]
        found["switched"] = "&".join(
            f"{unit['do']}={kind}" + (f"&{unit['by']}={by}" if by else "")
            for unit, kind, by in zip(units, ("off", "scale", "add"), ("", "0.7", "0.3"), strict=False)
        )
    if forms["rows"]["most"] >= 3:
        found["batch"] = f"rows=3&example=1&{fields[-1]['name'].replace('[0]', '[1]')}={_other(fields[-1], -1.4)}"
    for option in forms["options"]:
        other = next((one["value"] for one in option["values"] if one["value"] != option["chosen"]), None)
        if other is not None:
            found[f"{option['name']} {other}"] = f"{option['name']}={other}&lr=0.03"
    frozen = forms["update"]["frozen"]
    if len(frozen) > 1:
        last = (frozen[-1]["cells"] or [frozen[-1]])[0]
        found["frozen"] = f"frozen={frozen[0]['name']}&frozen={last['name']}&lr=0.07"
    return found


def _other(field: Mapping[str, Any], more: float) -> str:
    """Another value of a field: the next of its words, else a number with more digits."""
    words = field["choices"]
    if not words:
        return f"{field['number'] / 2 + more:g}"
    return urllib.parse.quote(words[(int(field["number"]) + 1) % len(words)])


def steps_by_phase(data: Data) -> list[int]:
    """The last step of each phase of a page's timeline."""
    return list({mark["phase"]: mark["index"] for mark in data["timeline"]}.values())


def one_step_a_kind(data: Data) -> list[int]:
    """The last step of each operation in each phase of a page's run."""
    return sorted({(step["phase"], step["op"]): step["index"] for step in data["trace"]["steps"]}.values())


def one_tensor_a_kind(data: Data) -> dict[str, Data]:
    """The last tensor that each operation of a page's run makes, the last gradient that each sends, and of those that
    are given the last of each kind."""
    tensors = {name: tensor for name, tensor in data["trace"]["tensors"].items() if "@" not in name}
    made = {output: (step["phase"], step["op"]) for step in data["trace"]["steps"] for output in step["outputs"]}
    sent = {one["to"]: ("backward", step["op"]) for step in data["trace"]["steps"] for one in step.get("sends", ())}
    kinds = {made.get(name) or sent.get(name) or tensor["kind"]: name for name, tensor in tensors.items()}
    return {name: tensors[name] for name in kinds.values()}
