"""Reading a CSV file: what it becomes, and what is said of one that cannot be read."""

from __future__ import annotations

import pytest

from engine.data import table
from engine.errors import InputError

ROWS = ["1,red,0.5", "2,blue,-1.5", "3,red,2e3", "4,blue,.25", "5,red,1", "6,red,1", "7,blue,1", "8,red,+9."]
SMALL = "\n".join(["size,colour,price", *ROWS])


def refused(text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        table.read(text if isinstance(text, bytes) else text.encode())
    return str(caught.value)


def with_row(place: int, row: str) -> str:
    lines = SMALL.split("\n")
    lines[place] = row
    return "\n".join(lines)


def test_columns_are_numbers_or_words():
    found = table.read(SMALL.encode())
    assert [(one.name, one.kind) for one in found.columns] == [
        ("size", "numbers"), ("colour", "words"), ("price", "numbers"),
    ]  # fmt: skip
    assert found.columns[2].values.tolist() == [0.5, -1.5, 2000, 0.25, 1, 1, 1, 9]
    assert found.columns[1].words == ("blue", "red")
    assert found.named and found.rows == 8 and found.delimiter == ","


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_seen(delimiter):
    found = table.read(SMALL.replace(",", delimiter).encode())
    assert found.delimiter == delimiter
    assert [one.name for one in found.columns] == ["size", "colour", "price"]


def test_a_first_row_with_a_number_is_no_header():
    found = table.read("\n".join(ROWS).encode())
    assert not found.named and found.rows == 8
    assert [one.name for one in found.columns] == ["column 1", "column 2", "column 3"]


def test_quotes_spaces_empty_lines_and_a_byte_order_mark_are_read():
    text = "\ufeff" + with_row(1, '  1 , "red, light",0.5').replace("\n", "\r\n\r\n")
    found = table.read(text.encode())
    assert found.columns[0].name == "size"
    assert found.columns[1].values[0] == "red, light"


def test_a_column_of_many_different_words_is_left_out():
    lines = ["name,size", *(f"word{at},{at}" for at in range(13))]
    assert [one.kind for one in table.read("\n".join(lines).encode()).columns] == ["left out", "numbers"]
    assert [one.kind for one in table.read("\n".join(lines[:-1]).encode()).columns] == ["words", "numbers"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (with_row(3, "3,red,"), "row 4, column price must have a value; got an empty cell"),
        (with_row(3, "x,red,1"), "row 4, column size must be a number with a decimal point, such as -1.5; got 'x'"),
        (with_row(3, "NaN,red,1"), "row 4, column size must be a number with a decimal point, such as -1.5; got 'NaN'"),
        (with_row(3, "inf,red,1"), "row 4, column size must be a number with a decimal point, such as -1.5; got 'inf'"),
        (with_row(3, "1e16,red,1"), "row 4, column size must be within ±1e+15; got '1e16'"),
        (with_row(3, "1e999,red,1"), "row 4, column size must be within ±1e+15; got '1e999'"),
        (with_row(3, "3,red"), "row 4 must have 3 cells, as the first row has; got 2"),
        (with_row(3, '3,"red,1'), "row 9 must be a line of CSV; got unexpected end of data"),
        (with_row(0, "a,b,a"), "column 3 must have a name of its own; got 'a' again"),
        (with_row(0, "a,,c"), "column 2 must have a name of 1 to 40 characters; got ''"),
        ("", "table must have 2 to 20 columns, parted by commas, semicolons or tabs; got 0"),
        ("a\n1\n2", "table must have 2 to 20 columns, parted by commas, semicolons or tabs; got 1"),
        (",".join("x" * 21) + "\n", "table must have 2 to 20 columns, parted by commas, semicolons or tabs; got 21"),
        ("a,b\n1,2\n", "table must have 8 to 5,000 rows below its names; got 1"),
        ("a,b\n" + "1,2\n" * 5001, "table must have 8 to 5,000 rows below its names; got 5,001"),
        (b"a,b\n1,\xff", "table must be text in UTF-8; got the byte 0xff at 6"),
        (b"1" * 1_000_001, "table must have at most 1,000,000 bytes; got 1,000,001"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_where_expected_and_got(text, message):
    assert refused(text) == message


def test_a_decimal_comma_is_said_to_be_one():
    lines = ["size;price", *(f"{at};{at},5" for at in range(1, 9))]
    assert refused("\n".join(lines)) == (
        "row 2, column price must be a number with a decimal point, such as -1.5; got '1,5'"
    )
