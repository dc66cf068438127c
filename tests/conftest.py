"""What every test shares: shapes checked while tests run, seeds, worked values, and a client of the whole app."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from starlette.testclient import TestClient

os.environ.setdefault("OMP_NUM_THREADS", "1")

TESTS = Path(__file__).parent
ROOT = TESTS.parent

# Before anything imports the engine: in its modules that write shapes every annotation is checked on every call. (In
# all modules that would make tests three times slower.) As in PEP 484, an int will do where a float is asked for.
SHAPED = [path for path in sorted((ROOT / "engine").rglob("*.py")) if "from jaxtyping" in path.read_text("utf-8")]
jaxtyping.install_import_hook(
    [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in SHAPED],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

# `ci` is the default, so that the same tests see the same examples everywhere; `--hypothesis-profile=explore` looks
# for new ones. Slow examples are the machine's matter, not a failure.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "explore", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _seeds() -> None:
    """The same random numbers for a test, alone or among others."""
    import torch

    random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def facts() -> dict[str, Any]:
    """Worked values that the engine, the API and the pages must reproduce; hand-checked or recomputed in float64."""
    return json.loads((TESTS / "facts.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of the whole app, started and stopped once a module (Hypothesis refuses narrower fixtures).

    It asks as 127.0.0.1, a host that the app trusts, and keeps its files in a folder of its own. An error that the app
    does not handle fails the test.
    """
    from starlette.testclient import TestClient

    from app.main import create_app

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGHAND_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        with TestClient(create_app(), base_url="http://127.0.0.1") as testing:
            yield testing
