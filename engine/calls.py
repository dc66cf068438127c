"""A recorded call taken apart into operands and attributes by its row's parameter names, and put together again.

Which row a call belongs to is in ops/table.py; reading the cells of a step is in reader.py.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch

from engine.ops.table import Op
from engine.trace import Slot

_PLAIN = {int, float, bool, str, type(None)}
_NOT_MODEL = {"out", "inplace"}
_ALSO_CALLED = {
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "keepdims": "keepdim",
    "mat2": "other",
    "vec": "other",
    "tensor": "other",
    "self": "input",
    "other": "shape",
}


def bind(
    op: Op, function_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The call's tensors by role, and its other arguments by parameter name.

    A tensor given as `shape` (view_as) is that attribute. A tensor inside a sequence or slice gets a role with its
    place (`tensors.0`, `index.1`) and leaves a Slot there.
    Keyword arguments that are None, start with `_`, or say only where the result goes (out, inplace) are left out.
    Raises TypeError for an argument that the row does not know.
    """
    parameters = op.calls[function_name]
    if callable(parameters):
        parameters = parameters(args, kwargs)
    names, star, by_keyword = _split(parameters)
    roles: dict[str, torch.Tensor] = {}
    attributes: dict[str, Any] = {}
    count = len(names)
    if len(args) > count:
        if star is None:
            raise TypeError(f"{function_name} of {op.name}: expected at most {count} arguments; got {len(args)}")
        attributes[star] = _flatten(star, args[count:], roles)
    for name, value in zip(names, args, strict=False):
        _place(name, value, roles, attributes)
    for keyword, value in kwargs.items():
        if value is None or keyword in _NOT_MODEL or keyword[0] == "_":
            continue
        parameter = by_keyword.get(keyword)
        if parameter is None:
            raise TypeError(f"{function_name} of {op.name}: expected {sorted(by_keyword)}; got {keyword!r}")
        _place(parameter, value, roles, attributes)
    return roles, attributes


def arguments(roles: Mapping[str, torch.Tensor], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments for `Op.run`: attributes with their Slots filled, and the tensors that stand alone."""
    found = {name: value if type(value) in _PLAIN else _rebuild(value, roles) for name, value in attributes.items()}
    for role, tensor in roles.items():
        if "." not in role:
            found[role] = tensor
    return found


@functools.cache
def _split(parameters: tuple[str, ...]) -> tuple[tuple[str, ...], str | None, dict[str, str]]:
    """Positional names, the name that takes the rest, if any, and every accepted keyword with its parameter."""
    plain = [name.lstrip("*") for name in parameters]
    star = next((i for i, name in enumerate(parameters) if name.startswith("*")), None)
    # In a reflected operator the receiver is the second operand; a keyword `input` would say the opposite of it.
    reflected = {"other", "input"} if tuple(plain[:2]) == ("other", "input") else set()
    by_keyword = {name: name for name in plain if name not in reflected}
    for keyword, name in _ALSO_CALLED.items():
        if name in by_keyword:
            by_keyword.setdefault(keyword, name)
    if star is None:
        return tuple(plain), None, by_keyword
    return tuple(plain[:star]), plain[star], by_keyword


def _place(name: str, value: Any, roles: dict[str, torch.Tensor], attributes: dict[str, Any]) -> None:
    if type(value) in _PLAIN:
        attributes[name] = value
    elif not isinstance(value, torch.Tensor):
        attributes[name] = _flatten(name, value, roles)
    elif name == "shape":  # view_as: of the tensor only its shape counts
        attributes[name] = tuple(value.shape)
    else:
        roles[name] = value


def _flatten(path: str, value: Any, roles: dict[str, torch.Tensor]) -> Any:
    """The value with a Slot for each tensor in it; the tensors go to roles under their place."""
    if isinstance(value, torch.Tensor):
        roles[path] = value
        return Slot(path)
    if isinstance(value, (tuple, list)):
        members = [_flatten(f"{path}.{i}", member, roles) for i, member in enumerate(value)]
        return members if isinstance(value, list) else tuple(members)
    if isinstance(value, slice):
        return slice(
            _flatten(f"{path}.start", value.start, roles),
            _flatten(f"{path}.stop", value.stop, roles),
            _flatten(f"{path}.step", value.step, roles),
        )
    return value


def _rebuild(value: Any, roles: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(value, Slot):
        return roles[value.role]
    if isinstance(value, (tuple, list)):
        members = [_rebuild(member, roles) for member in value]
        return members if isinstance(value, list) else tuple(members)
    if isinstance(value, slice):
        return slice(_rebuild(value.start, roles), _rebuild(value.stop, roles), _rebuild(value.step, roles))
    return value
