"""Settings from the environment, and their table in the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.settings import Settings, from_environment, table

README = Path(__file__).parents[2] / "README.md"


def test_an_empty_environment_gives_the_defaults() -> None:
    assert from_environment({}) == Settings()
    assert from_environment({"PORT": " "}).port == 8000


def test_each_kind_of_setting_is_read() -> None:
    settings = from_environment(
        {"HOST": "0.0.0.0", "PORT": "9001", "LONGHAND_ALLOWED_HOSTS": "a.example, B.example", "LONGHAND_DATA_DIR": "/d"}
    )
    assert (settings.host, settings.port, settings.data_dir) == ("0.0.0.0", 9001, "/d")
    assert {"a.example", "b.example", "localhost", "127.0.0.1", "testserver", "0.0.0.0"} <= settings.hosts


def test_an_ipv6_host_is_answered_by_its_bracketed_name() -> None:
    assert "[fe80::1]" in Settings(host="fe80::1").hosts


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("PORT", "http", "PORT must be a whole number; got 'http'"),
        ("PORT", "65536", "PORT must be at most 65535; got 65536"),
        ("PORT", "-1", "PORT must be at least 0; got -1"),
        ("LONGHAND_LIGHT_THREADS", "0", "LONGHAND_LIGHT_THREADS must be at least 1; got 0"),
        ("LONGHAND_LOG_LEVEL", "loud", "LONGHAND_LOG_LEVEL must be one of critical, error, warning, info, debug"),
    ],
)
def test_a_bad_setting_says_expected_and_got(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        from_environment({name: text})


def test_the_readme_lists_every_setting_with_its_default() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (?:`([^`]*)`)? *\|", README.read_text(encoding="utf-8"), re.MULTILINE)
    ours = {name: default for name, default, _ in table()}
    listed = {name: default for name, default in rows if name in ours or name.startswith("LONGHAND_")}
    assert listed == ours
