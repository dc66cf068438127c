"""What a model offers to be traced: how it is built, what it takes, and how a request becomes a run."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from engine.errors import InputError
from engine.intervene import Intervention, Kind
from engine.run import Loss, OnStep, trace
from engine.skeleton import Edit
from engine.trace import Trace
from engine.update import Frozen, Update

_KINDS: tuple[Kind, ...] = ("set", "scale", "add", "patch")
_FIELDS = ("inputs", "target", "edits", "interventions", "backward", "update", "options", "mode", "seed")


@dataclass(frozen=True)
class InputField:
    """A vector of `size` numbers, or up to `rows` rows of them; `limit` bounds each number's magnitude.

    A field of size 1 is also given as a bare number, and its rows as a list of numbers.
    """

    name: str
    size: int
    default: tuple[float, ...]
    limit: float
    rows: int = 256

    def read(self, field: str, value: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """A tensor of shape [size] or [example, size]. Raises InputError that says expected and got."""
        if self.size == 1 and not isinstance(value, list | tuple):
            value = [value]
        if not isinstance(value, list | tuple):
            raise InputError(field, f"be a list of {_numbers(self.size)}, or of rows of them", type(value).__name__)
        nested = bool(value) and isinstance(value[0], list | tuple)
        if self.size == 1 and not nested and len(value) != 1:
            value, nested = [[number] for number in value], True
        if not nested:
            return torch.tensor(self._row(field, value), dtype=dtype)
        if len(value) > self.rows:
            raise InputError(field, f"have at most {self.rows} rows", len(value))
        return torch.tensor([self._row(f"{field}[{number}]", row) for number, row in enumerate(value)], dtype=dtype)

    def _row(self, field: str, row: Any) -> list[float]:
        if not isinstance(row, list | tuple):
            raise InputError(field, f"have {_numbers(self.size)}", type(row).__name__)
        if len(row) != self.size:
            raise InputError(field, f"have {_numbers(self.size)}", len(row))
        return [number(f"{field}[{place}]", value, self.limit) for place, value in enumerate(row)]


@dataclass(frozen=True)
class Option:
    """A switch of the model: its values with what they are called."""

    name: str
    title: str
    values: Mapping[str, str]
    default: str


@dataclass(frozen=True)
class Model:
    """build(**options) gives the module, loss(prediction, target) one number.

    inputs: what forward takes, by name. `defaults` is the whole default request.
    """

    name: str
    title: str
    summary: str
    build: Callable[..., nn.Module]
    loss: Loss
    inputs: tuple[InputField, ...]
    target: InputField
    options: tuple[Option, ...] = ()

    @property
    def defaults(self) -> dict[str, Any]:
        return {
            "inputs": {field.name: list(field.default) for field in self.inputs},
            "target": self.target.default[0] if self.target.size == 1 else list(self.target.default),
            "edits": [],
            "interventions": [],
            "backward": True,
            "update": None,
            "options": {option.name: option.default for option in self.options},
            "mode": "explain",
            "seed": None,
        }

    def module(self, options: Mapping[str, str] | None = None) -> nn.Module:
        """The shared module for these options; nobody writes to it. Raises InputError for unknown options."""
        return _built(self.build, tuple(sorted(self._options(options or {}).items())))

    def canonical(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with its defaults filled in, checked, in one form for one meaning. Raises InputError."""
        unknown = sorted(set(request) - set(_FIELDS) - {"stream"})
        if unknown:
            raise InputError(unknown[0], f"be one of {', '.join(_FIELDS)}", repr(unknown[0]))
        whole = {**self.defaults, **{key: value for key, value in request.items() if key != "stream"}}
        if whole["target"] is None:
            whole["target"] = self.defaults["target"]
        inputs = mapping("inputs", whole["inputs"])
        known = [field.name for field in self.inputs]
        for name in inputs:
            if name not in known:
                raise InputError(f"inputs.{name}", f"be one of {', '.join(known)}", repr(name))
        whole["inputs"] = {**self.defaults["inputs"], **inputs}
        whole["options"] = self._options(mapping("options", whole["options"]))
        whole["inputs"], whole["target"] = _floats(whole["inputs"]), _floats(whole["target"])
        whole["edits"] = _latest([_with_floats(edit) for edit in listed("edits", whole["edits"])])
        whole["interventions"] = [_with_floats(one) for one in listed("interventions", whole["interventions"])]
        if isinstance(whole["update"], Mapping):
            whole["update"] = {"rule": "sgd", "frozen": [], **_with_floats(whole["update"])}
        if whole["mode"] not in ("explain", "exact"):
            raise InputError("mode", "be explain or exact", repr(whole["mode"]))
        return whole

    def trace(
        self, request: Mapping[str, Any], *, on_step: OnStep | None = None, dtype: torch.dtype | None = None
    ) -> Trace:
        """Runs a request (DESIGN section 5's JSON as a dict). Raises InputError for what does not fit."""
        whole = self.canonical(request)
        wide = dtype or torch.float32
        inputs = {one.name: one.read(f"inputs.{one.name}", whole["inputs"][one.name], wide) for one in self.inputs}
        target = self.target.read("target", whole["target"], wide)
        target = _rows_like(next(iter(inputs.values())), target)
        return trace(
            self.module(whole["options"]),
            inputs,
            target=target,
            loss=self.loss,
            edits=[_edit(number, edit) for number, edit in enumerate(whole["edits"])],
            interventions=[_intervention(number, one) for number, one in enumerate(whole["interventions"])],
            backward=whole["backward"],
            update=None if whole["update"] is None else _update(mapping("update", whole["update"])),
            mode=whole["mode"],
            seed=whole["seed"],
            on_step=on_step,
            request=whole,
            name=self.name,
            title=self.title,
            dtype=dtype,
        )

    def _options(self, given: Mapping[str, Any]) -> dict[str, str]:
        known = {option.name: option for option in self.options}
        for name, value in given.items():
            if name not in known:
                raise InputError(f"options.{name}", f"be one of {', '.join(known)}", repr(name))
            if value not in known[name].values:
                raise InputError(f"options.{name}", f"be one of {', '.join(known[name].values)}", repr(value))
        return {name: given.get(name, option.default) for name, option in known.items()}


@functools.cache
def _built(build: Callable[..., nn.Module], options: tuple[tuple[str, str], ...]) -> nn.Module:
    return build(**dict(options)).eval().requires_grad_()


def number(field: str, value: Any, limit: float = math.inf) -> float:
    """A finite number of magnitude at most `limit`. Raises InputError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(field, "be a number", repr(value)[:80])
    if not math.isfinite(value) or abs(value) > limit:
        bound = f" from {-limit:g} to {limit:g}" if math.isfinite(limit) else ""
        raise InputError(field, f"be a finite number{bound}", value)
    return float(value)


def mapping(field: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(field, "be an object", type(value).__name__)
    return value


def listed(field: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple):
        raise InputError(field, "be a list", type(value).__name__)
    return [dict(mapping(f"{field}[{number}]", one)) for number, one in enumerate(value)]


def _edit(place: int, edit: Mapping[str, Any]) -> Edit:
    field = f"edits[{place}]"
    return Edit(
        _name(field, "parameter", edit),
        _index(field, edit.get("index")),
        number(f"{field}.value", edit.get("value"), 1e6),
    )


def _intervention(place: int, one: Mapping[str, Any]) -> Intervention:
    field = f"interventions[{place}]"
    kinds = [kind for kind in _KINDS if one.get(kind) is not None]
    if len(kinds) != 1:
        raise InputError(field, f"have exactly one of {', '.join(_KINDS)}", ", ".join(kinds) or "none")
    kind = kinds[0]
    value = one[kind] if kind == "patch" else number(f"{field}.{kind}", one[kind], 1e6)
    return Intervention(_name(field, "at", one), _index(field, one.get("index")), kind, value)


def _update(given: Mapping[str, Any]) -> Update:
    if given.get("rule", "sgd") != "sgd":
        raise InputError("update.rule", "be sgd", repr(given["rule"]))
    frozen = []
    for place, one in enumerate(listed("update.frozen", given.get("frozen", []))):
        field = f"update.frozen[{place}]"
        index = None if one.get("index") is None else _index(field, one["index"])
        frozen.append(Frozen(_name(field, "parameter", one), index))
    return Update(number("update.learning_rate", given.get("learning_rate"), 1e6), tuple(frozen))


def _name(field: str, key: str, one: Mapping[str, Any]) -> str:
    if not isinstance(one.get(key), str):
        raise InputError(f"{field}.{key}", "be a name", repr(one.get(key)))
    return one[key]


def _index(field: str, value: Any) -> tuple[int | None, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{field}.index", "be a list of whole numbers or null", repr(value)[:80])
    for place, part in enumerate(value):
        if part is not None and (isinstance(part, bool) or not isinstance(part, int)):
            raise InputError(f"{field}.index[{place}]", "be a whole number or null", repr(part)[:80])
    return tuple(value)


def _floats(value: Any) -> Any:
    """The same with whole numbers as floats, so that 2 and 2.0 are one request."""
    if isinstance(value, Mapping):
        return {key: _floats(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_floats(part) for part in value]
    return float(value) if type(value) is int and abs(value) < 2**53 else value


def _with_floats(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value if key in ("index", "frozen") else _floats(value) for key, value in one.items()}


def _latest(edits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of several edits of one place the last, in a fixed order, so that one meaning has one form."""
    if not all(isinstance(edit.get("index"), list | tuple) for edit in edits):
        return list(edits)
    last = {(str(edit.get("parameter")), str(list(edit["index"]))): edit for edit in edits}
    overlap = any(None in edit["index"] for edit in edits)
    return list(last.values()) if overlap else [last[key] for key in sorted(last)]


def _rows_like(inputs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A target for every row: one number serves all rows. Raises InputError where the counts differ."""
    if inputs.dim() == 1:
        if target.dim() == 2 and target.shape[0] == 1:
            return target[0]
        if target.dim() == 1:
            return target
        raise InputError("target", "be 1 number, as there is one example", f"{target.shape[0]}")
    rows = inputs.shape[0]
    if target.dim() == 1:
        return target.expand(rows, -1).clone()
    if target.shape[0] != rows:
        raise InputError("target", f"be 1 number or {rows}, one for each row of the inputs", f"{target.shape[0]}")
    return target


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"
