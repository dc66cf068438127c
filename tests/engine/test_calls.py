from __future__ import annotations

import pytest
import torch

from engine.calls import arguments, bind
from engine.ops.table import calls
from engine.trace import Slot

X, Y = torch.ones(2, 3), torch.zeros(3)


def bound(name: str, *args: object, **kwargs: object) -> tuple[dict, dict]:
    return bind(calls()[name], name, args, kwargs)


def test_tensor_is_an_operand_and_a_number_an_attribute() -> None:
    assert bound("add", X, Y) == ({"input": X, "other": Y}, {})
    assert bound("add", X, 2, alpha=3) == ({"input": X}, {"other": 2, "alpha": 3})


def test_reflected_operator_swaps_its_sides() -> None:
    assert bound("rsub", X, 2) == ({"other": X}, {"input": 2})
    assert bound("rpow", X, 2) == ({"exponent": X}, {"input": 2})


def test_reflected_operator_refuses_names_that_would_say_the_opposite() -> None:
    with pytest.raises(TypeError, match="got 'input'"):
        bound("rsub", input=X, other=Y)


def test_what_is_none_private_or_only_about_the_result_is_left_out() -> None:
    assert bound("softmax", X, dim=-1, _stacklevel=3, dtype=None) == ({"input": X}, {"dim": -1})
    assert bound("relu", X, inplace=True) == ({"input": X}, {})
    assert bound("add", X, Y, out=X) == ({"input": X, "other": Y}, {})


def test_second_names_of_parameters_are_understood() -> None:
    assert bound("sum", X, axis=1, keepdims=True)[1] == {"dim": 1, "keepdim": True}
    assert bound("mm", X, mat2=Y)[0] == {"input": X, "other": Y}


def test_rest_goes_to_the_starred_parameter() -> None:
    assert bound("reshape", X, 3, 2) == ({"input": X}, {"shape": (3, 2)})
    assert bound("reshape", X, (3, 2)) == ({"input": X}, {"shape": ((3, 2),)})


def test_sequence_of_tensors_leaves_slots() -> None:
    roles, attributes = bound("cat", [X, X + 1], dim=1)
    assert list(roles) == ["tensors.0", "tensors.1"]
    assert attributes == {"tensors": [Slot("tensors.0"), Slot("tensors.1")], "dim": 1}
    assert [each.tolist() for each in arguments(roles, attributes)["tensors"]] == [X.tolist(), (X + 1).tolist()]


def test_index_keeps_its_structure() -> None:
    i, end = torch.tensor([0]), torch.tensor(2)
    roles, attributes = bound("getitem", X, (i, slice(None, end), None, Ellipsis))
    assert list(roles) == ["input", "index.0", "index.1.stop"]
    assert attributes["index"] == (Slot("index.0"), slice(None, Slot("index.1.stop"), None), None, Ellipsis)
    again = arguments(roles, attributes)
    assert again["input"] is X
    assert again["index"][0] is i
    assert again["index"][1].stop is end


def test_none_as_an_index_is_kept() -> None:
    assert bound("getitem", X, None) == ({"input": X}, {"index": None})


def test_later_changes_to_a_list_of_the_caller_change_no_attribute() -> None:
    index = [0, 1]
    attributes = bound("getitem", X, index)[1]
    index.append(0)
    assert attributes["index"] == [0, 1]


def test_form_of_a_shared_name_is_told_by_its_arguments() -> None:
    assert bound("max", X, 1, True)[1] == {"dim": 1, "keepdim": True}
    assert bound("max", X, X)[0] == {"input": X, "other": X}
    condition = X > 0
    assert list(bound("where", condition, X, Y)[0]) == ["condition", "input", "other"]
    assert bound("where", X, condition, Y)[0]["condition"] is condition


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "said"),
    [
        ("relu", (X, 1), {}, "expected at most 1 arguments; got 2"),
        ("relu", (X,), {"slope": 1}, "got 'slope'"),
        ("where", (X > 0, X > 1, X > 2), {}, "expected at most 0 arguments; got 3"),
        ("addmm", (1, X, 1, X, X), {}, "expected at most 0"),
        ("rdiv", (X, Y), {}, "expected at most 0"),
    ],
)
def test_call_that_the_row_does_not_describe_raises(name: str, args: tuple, kwargs: dict, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        bound(name, *args, **kwargs)
