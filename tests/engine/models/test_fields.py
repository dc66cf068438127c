"""A model's inputs read numbers and words, one example or rows, and refuse the rest with expected and got."""

from __future__ import annotations

import pytest
import torch

from engine.errors import InputError
from engine.models.fields import InputField, rows_like

TOKENS = InputField("tokens", size=3, default=("a", "blue", "hat"), words=("a", "blue", "hat", "cat"))
CLASS = InputField("target", size=1, default=("hat",), words=TOKENS.words)
HEAT = InputField("temperature", size=1, default=(1.0,), limit=10, least=0.1)


def test_words_are_read_as_their_places_whichever_way_they_are_given():
    expected = torch.tensor([0, 3, 1])
    for given in (["a", "cat", "blue"], [0, 3, 1], ["a", 3.0, "blue"]):
        assert torch.equal(TOKENS.read("inputs.tokens", given), expected)
    assert TOKENS.read("inputs.tokens", [["a", "a", "a"], ["hat", "cat", "blue"]]).tolist() == [[0, 0, 0], [2, 3, 1]]


def test_one_meaning_has_one_form():
    assert TOKENS.canonical("tokens", [0, "cat", 1]) == ["a", "cat", "blue"]
    assert TOKENS.canonical("tokens", [[0, 0, 0], ["a", "a", 2]]) == [["a", "a", "a"], ["a", "a", "hat"]]
    assert CLASS.canonical("target", 3) == CLASS.canonical("target", ["cat"]) == "cat"
    assert CLASS.canonical("target", [1, "hat"]) == ["blue", "hat"]
    assert HEAT.canonical("temperature", 2) == 2.0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (TOKENS, ["a", "blue"], "tokens must have 3 words; got 2"),
        (TOKENS, "a blue hat", "tokens must be a list of 3 words, or of rows of them; got str"),
        (TOKENS, ["a", "blue", "dog"], "tokens[2] must be one of a, blue, hat, cat; got 'dog'"),
        (TOKENS, ["a", "blue", 4], "tokens[2] must be one of a, blue, hat, cat; got 4"),
        (TOKENS, ["a", "blue", 1.5], "tokens[2] must be one of a, blue, hat, cat; got 1.5"),
        (TOKENS, ["a", "blue", True], "tokens[2] must be one of a, blue, hat, cat; got True"),
        (HEAT, 0.0, "temperature must be 0.1 or more; got 0.0"),
        (HEAT, 11, "temperature must be a finite number from -10 to 10; got 11"),
        (HEAT, "warm", "temperature must be a number; got 'warm'"),
    ],
)
def test_what_does_not_fit_is_refused_with_expected_and_got(field, value, message):
    with pytest.raises(InputError) as refused:
        field.read(field.name if field is not CLASS else "target", value)
    assert str(refused.value) == message


def test_one_target_serves_every_row_and_other_counts_are_refused():
    rows = torch.zeros(3, 2)
    assert rows_like(CLASS, rows, torch.tensor([2])).tolist() == [[2], [2], [2]]
    with pytest.raises(InputError, match="target must be 1 number or 3, one for each row of the inputs; got 2"):
        rows_like(CLASS, rows, torch.tensor([[2], [1]]))
    with pytest.raises(InputError, match="target must be 1 row, as there is one example; got 2"):
        rows_like(TOKENS, rows[0], torch.zeros(2, 3))
