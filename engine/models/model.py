"""What a model offers to be traced: how it is built, what it takes, and how a request becomes a run."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from engine.builder import OnStep
from engine.errors import InputError
from engine.intervene import Intervention, Kind
from engine.models.fields import InputField, floats, listed, mapping, number, rows_like
from engine.run import Loss, trace
from engine.skeleton import Edit
from engine.trace import Trace
from engine.update import Frozen, Update

_KINDS: tuple[Kind, ...] = ("set", "scale", "add", "patch")
_ADAMW = {"betas": list(Update.betas), "epsilon": Update.epsilon, "weight_decay": Update.weight_decay}
_FIELDS = ("inputs", "target", "edits", "interventions", "backward", "update", "options", "mode", "seed")


@dataclass(frozen=True)
class Option:
    """A switch of the model: its values with what they are called."""

    name: str
    title: str
    values: Mapping[str, str]
    default: str


@dataclass(frozen=True)
class Model:
    """build(**options) gives the module, loss(prediction, target) one number; or one loss a value of the option `loss`.

    inputs: what forward takes, by name. `defaults` is the whole default request.
    target: what the loss compares with; None where the loss needs nothing.
    labels: the members' names of an axis, by the axis' name: words, or the name of the input that gives them, position
            by position (for one example).
    grids:  (rows, columns) of an axis whose members are the places of a picture, row by row, by the axis' name.
    """

    name: str
    title: str
    summary: str
    build: Callable[..., nn.Module]
    loss: Loss | Mapping[str, Loss]
    inputs: tuple[InputField, ...]
    target: InputField | None
    options: tuple[Option, ...] = ()
    labels: Mapping[str, tuple[str, ...] | str] = field(default_factory=dict)
    grids: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def axis_labels(self, request: Mapping[str, Any], example: int = 0) -> dict[str, tuple[str, ...]]:
        """The names of axes' members in a canonical request, for one of its examples."""
        found = {}
        for axis, named in self.labels.items():
            if isinstance(named, str):
                value = request["inputs"][named]
                row = value[min(example, len(value) - 1)] if value and isinstance(value[0], list) else value
                found[axis] = tuple(map(str, row))
            else:
                found[axis] = named
        return found

    @property
    def defaults(self) -> dict[str, Any]:
        target = self.target
        return {
            "inputs": {field.name: list(field.default) for field in self.inputs},
            "target": None if target is None else target.default[0] if target.size == 1 else list(target.default),
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

    def loss_for(self, options: Mapping[str, str] | None = None) -> Loss:
        """The loss for these options. Raises InputError for unknown options."""
        return self.loss[self._options(options or {})["loss"]] if isinstance(self.loss, Mapping) else self.loss

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
        whole["inputs"] = {
            field.name: field.canonical(f"inputs.{field.name}", whole["inputs"][field.name]) for field in self.inputs
        }
        if self.target is not None:
            whole["target"] = self.target.canonical("target", whole["target"])
        elif whole["target"] is not None:
            raise InputError("target", "be null, as this model has no target", type(whole["target"]).__name__)
        whole["edits"] = _latest([_with_floats(edit) for edit in listed("edits", whole["edits"])])
        whole["interventions"] = [_with_floats(one) for one in listed("interventions", whole["interventions"])]
        if isinstance(whole["update"], Mapping):
            whole["update"] = _whole_update(whole["update"])
        if whole["mode"] not in ("explain", "exact"):
            raise InputError("mode", "be explain or exact", repr(whole["mode"]))
        return whole

    def trace(
        self,
        request: Mapping[str, Any],
        *,
        on_step: OnStep | None = None,
        dtype: torch.dtype | None = None,
        limits: bool = True,
    ) -> Trace:
        """Runs a request (DESIGN section 5's JSON as a dict). Raises InputError for what does not fit.

        limits: False lets numbers of the inputs past their limits, as a proof does that moves one by ε.
        """
        whole = self.canonical(request)
        wide = dtype or torch.float32
        fields = [one if limits else replace(one, limit=math.inf, least=-math.inf) for one in self.inputs]
        inputs = {one.name: one.read(f"inputs.{one.name}", whole["inputs"][one.name], wide) for one in fields}
        target = None
        if self.target is not None:
            target = rows_like(
                self.target, next(iter(inputs.values())), self.target.read("target", whole["target"], wide)
            )
        return trace(
            self.module(whole["options"]),
            inputs,
            target=target,
            loss=self.loss_for(whole["options"]),
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
            labels=self.axis_labels(whole) if inputs and next(iter(inputs.values())).dim() == 1 else self._fixed_labels,
        )

    @property
    def _fixed_labels(self) -> dict[str, tuple[str, ...]]:
        return {axis: words for axis, words in self.labels.items() if not isinstance(words, str)}

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


def _whole_update(given: Mapping[str, Any]) -> dict[str, Any]:
    """An update with its rule's defaults filled in. Raises InputError for what its rule does not read."""
    rule = given.get("rule", "sgd")
    own = _ADAMW if rule == "adamw" else {}
    for name in _ADAMW:
        if name in given and name not in own:
            raise InputError(f"update.{name}", "be left out: it belongs to adamw", f"rule {rule!r}"[:80])
    return {"rule": "sgd", "frozen": [], **own, **_with_floats(given)}


def _update(given: Mapping[str, Any]) -> Update:
    frozen = []
    for place, one in enumerate(listed("update.frozen", given.get("frozen", []))):
        field = f"update.frozen[{place}]"
        index = None if one.get("index") is None else _index(field, one["index"])
        frozen.append(Frozen(_name(field, "parameter", one), index))
    rate = number("update.learning_rate", given.get("learning_rate"), 1e6)
    if given["rule"] != "adamw":
        return Update(rate, tuple(frozen), given["rule"])
    betas = given["betas"]
    if not isinstance(betas, list | tuple) or len(betas) != 2:
        raise InputError("update.betas", "be two numbers", repr(betas)[:80])
    read = [number(f"update.betas[{place}]", beta) for place, beta in enumerate(betas)]
    epsilon, decay = (number(f"update.{name}", given[name], 1e6) for name in ("epsilon", "weight_decay"))
    return Update(rate, tuple(frozen), "adamw", (read[0], read[1]), epsilon, decay)


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


def _with_floats(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value if key in ("index", "frozen") else floats(value) for key, value in one.items()}


def _latest(edits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of several edits of one place the last, in a fixed order, so that one meaning has one form."""
    if not all(isinstance(edit.get("index"), list | tuple) for edit in edits):
        return list(edits)
    last = {(str(edit.get("parameter")), str(list(edit["index"]))): edit for edit in edits}
    overlap = any(None in edit["index"] for edit in edits)
    return list(last.values()) if overlap else [last[key] for key in sorted(last)]
