"""What set-up and the container rest on: pins, the lock file, and that every step written down is a real target."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import plotly.offline
import pytest

ROOT = Path(__file__).parents[1]
# A command line, or one in backticks; not the word in a sentence.
TARGET = re.compile(r"(?:^\s*|[`;&] *|RUN |CMD )make ([a-z]+)", re.MULTILINE)


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _targets() -> set[str]:
    """The targets that the Makefile says are to be called by name."""
    phony = re.search(r"^\.PHONY: (.+)$", _read("Makefile"), re.MULTILINE)
    assert phony is not None
    return set(phony.group(1).split())


def _instructions() -> list[str]:
    """The Dockerfile's instructions, one a line: continuation lines joined, comments left out."""
    lines = [line for line in _read("Dockerfile").splitlines() if line.strip() and not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


def _of(kind: str) -> list[str]:
    return [line.removeprefix(kind).strip() for line in _instructions() if line.startswith(f"{kind} ")]


def test_phony_targets_have_rules() -> None:
    rules = set(re.findall(r"^([a-z]+):", _read("Makefile"), re.MULTILINE))
    assert _targets() == rules


@pytest.mark.parametrize("name", ["Dockerfile", "README.md", ".ci/run"])
def test_every_make_step_that_is_written_down_exists(name: str) -> None:
    steps = set(TARGET.findall(_read(name).replace('["make", "', "make ")))
    assert steps, f"{name} calls no target"
    assert steps - _targets() == set()


def test_container_installs_and_serves_by_the_makefile() -> None:
    assert any("make install" in step for step in _of("RUN"))
    assert [step for step in _of("RUN") if "pip " in step or "npm " in step.replace("/npm", "")] == []
    assert [json.loads(command) for command in _of("CMD")][-1] == ["make", "serve"]


def test_container_runs_as_a_user_and_listens_to_the_outside() -> None:
    assert _of("USER") == ["longhand"]
    assert any("useradd" in step and step.endswith("longhand") for step in _of("RUN"))
    assert "HOST=0.0.0.0" in " ".join(_of("ENV")).split()


def test_container_gives_the_index_of_cpu_builds_to_set_up() -> None:
    assert _of("ARG") == ['TORCH_INDEX=""']
    assert any('TORCH_INDEX="${TORCH_INDEX}"' in step for step in _of("RUN"))


def test_container_copies_what_set_up_reads_before_it_sets_up() -> None:
    first = _of("COPY")[0].split()
    assert {"Makefile", "pyproject.toml", "package.json", "package-lock.json", ".npmrc", "README.md"} <= set(first)
    kept_out = set(_read(".dockerignore").split())
    assert [name for name in first[:-1] if name in kept_out or not (ROOT / name).is_file()] == []


def test_container_checks_its_health_where_it_listens() -> None:
    check = " ".join(_of("HEALTHCHECK"))
    assert "/healthz" in check
    assert "os.environ['PORT']" in check


def test_make_serve_starts_the_app_with_one_torch_thread() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "MAKEFLAGS")}
    plan = subprocess.run(
        ["make", "--dry-run", "--print-data-base", "serve"], cwd=ROOT, env=environment, text=True, capture_output=True
    )
    assert "exec .venv/bin/python -m app" in plan.stdout
    assert re.search(r"^export OMP_NUM_THREADS\b|^OMP_NUM_THREADS = 1$", plan.stdout, re.MULTILINE)


def test_set_up_takes_the_torch_that_the_project_pins() -> None:
    environment = os.environ | {"TORCH_INDEX": "https://index.example/cpu"}
    plan = subprocess.run(
        ["make", "--dry-run", "--always-make", "install"], cwd=ROOT, env=environment, text=True, capture_output=True
    )
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    torch = next(pin for pin in project["dependencies"] if pin.startswith("torch=="))
    assert f"--index-url 'https://index.example/cpu' '{torch}'" in plan.stdout


def test_every_python_package_is_pinned() -> None:
    project = tomllib.loads(_read("pyproject.toml"))["project"]
    pins = [*project["dependencies"], *(pin for extra in project["optional-dependencies"].values() for pin in extra)]
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9.]*", pin)] == []


def test_every_browser_package_is_pinned_and_locked() -> None:
    package = json.loads(_read("package.json"))
    pins = package["dependencies"] | package["devDependencies"]
    locked = json.loads(_read("package-lock.json"))["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in pins} == pins


def test_lock_file_names_no_registry() -> None:
    packages = json.loads(_read("package-lock.json"))["packages"]
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert "omit-lockfile-registry-resolved=true" in _read(".npmrc").split()


def test_packages_run_no_scripts_of_their_own_while_they_are_installed() -> None:
    assert "ignore-scripts=true" in _read(".npmrc").split()


def test_the_bundle_is_the_plotly_that_python_makes_figures_for() -> None:
    bundles = {name: pin for name, pin in json.loads(_read("package.json"))["dependencies"].items() if "plotly" in name}
    assert set(bundles.values()) == {plotly.offline.get_plotlyjs_version()}


def test_ci_is_a_program_that_stops_at_the_first_failure() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert "set -euo pipefail" in _read(".ci/run")
