"""Values as they may be sent: numbers of float32's range, or words, alone or in lists of one shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError

from app.errors import shown
from app.wire import word

MAX_ROWS = 256
MAX_WIDTH = 4096
MAX_NUMBERS = 65_536
MAX_VALUES_RANK = 3
MAX_TEXT = 100
LARGEST = 3.4028234663852886e38  # float32's largest


def refuse(expected: str, got: str, at: tuple[int | str, ...] = ()) -> PydanticCustomError:
    """What a validator raises; at: where in the value, by key and place."""
    return PydanticCustomError("expected_got", "expected and got", {"expected": expected, "got": got, "at": at})


def _check_members(value: Any, max_rank: int, check: Callable[[Any, tuple[int, ...]], None]) -> Any:
    """One member, or lists of them nested to at most `max_rank`, all of one shape and within the bounds."""
    count = 0

    def shape_of(part: Any, at: tuple[int, ...]) -> tuple[int, ...]:
        nonlocal count
        if not isinstance(part, list):
            count += 1
            if count > MAX_NUMBERS:
                raise refuse(f"have at most {MAX_NUMBERS} numbers", "more")
            check(part, at)
            return ()
        if len(at) == max_rank:
            raise refuse("be a number", shown(part), at)
        bound = MAX_ROWS if part and isinstance(part[0], list) else MAX_WIDTH
        if len(part) > bound:
            raise refuse(f"have at most {bound} members", str(len(part)), at)
        shapes = [shape_of(member, (*at, place)) for place, member in enumerate(part)]
        for place, shape in enumerate(shapes):
            if shape != shapes[0]:
                raise refuse(f"have shape {list(shapes[0])} as the members before it", str(list(shape)), (*at, place))
        return (len(part), *(shapes[0] if shapes else ()))

    shape_of(value, ())
    return value


def _check_number(value: Any, at: tuple[int, ...] = ()) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse("be a number", shown(value), at)
    if isinstance(value, float) and not math.isfinite(value):
        raise refuse("be a finite number", word(value), at)
    if abs(value) > LARGEST:
        raise refuse(f"be at most {LARGEST:g} in size", shown(value), at)


def _check_word(value: Any, at: tuple[int, ...] = ()) -> None:
    if not isinstance(value, str):
        _check_number(value, at)
    elif len(value) > MAX_TEXT:
        raise refuse(f"have at most {MAX_TEXT} characters", str(len(value)), at)


_WORD_SCHEMA = {"type": "string", "maxLength": MAX_TEXT}
_NUMBER_SCHEMA = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}


def _nested_schema(depth: int, *members: dict[str, Any]) -> dict[str, Any]:
    forms: list[dict[str, Any]] = [{"anyOf": list(members)} if len(members) > 1 else members[0]]
    for level in range(depth):
        inner = forms[-1]
        forms.append({"type": "array", "items": inner, "maxItems": MAX_WIDTH if level == 0 else MAX_ROWS})
    return {"anyOf": forms}


def _values(value: Any, _: Any) -> Any:
    return _check_members(value, MAX_VALUES_RANK, _check_number)


def _given(value: Any, _: Any) -> Any:
    return _check_members(value, MAX_VALUES_RANK, _check_word)


def _number(value: Any, _: Any) -> Any:
    _check_number(value)
    return value


def _scalar(value: Any, _: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise refuse(f"have at most {MAX_TEXT} characters", str(len(value)))
    if isinstance(value, list | dict) or value is None:
        raise refuse("be text, a number, true or false", shown(value))
    if not isinstance(value, str | bool):
        _check_number(value)
    return value


Number = Annotated[Any, WrapValidator(_number), WithJsonSchema(_NUMBER_SCHEMA)]
Values = Annotated[Any, WrapValidator(_values), WithJsonSchema(_nested_schema(MAX_VALUES_RANK, _NUMBER_SCHEMA))]
Given = Annotated[
    Any, WrapValidator(_given), WithJsonSchema(_nested_schema(MAX_VALUES_RANK, _NUMBER_SCHEMA, _WORD_SCHEMA))
]
Scalar = Annotated[
    Any,
    WrapValidator(_scalar),
    WithJsonSchema({"anyOf": [_WORD_SCHEMA, {"type": "boolean"}, _NUMBER_SCHEMA]}),
]
