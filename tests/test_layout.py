"""The shape of the tree: who may import whom, what may stand where, and that the README's tree is the real one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_LINES = 300
# Files that may be longer, each with its reason.
LONGER: dict[str, str] = {}
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
ENGINE_NEVER = {"app", "fastapi", "starlette", "uvicorn", "jinja2", "pydantic", "plotly", "orjson", "httpx2"}
APP_NEVER = {"torch", "safetensors"}
# Written in pieces, so that this file does not find itself.
FORBIDDEN_TEXT = {
    "an absolute path of one machine": re.compile(r"(?<![\w.\-/])/(?:work|root|Users|home)/[\w.]"),
    "a package registry's host": re.compile(
        "|".join(
            re.escape(".".join(parts))
            for parts in (
                ("pypi", "org"),
                ("pythonhosted", "org"),
                ("npmjs", "org"),
                ("npmjs", "com"),
                ("download", "pytorch", "org"),
                ("deb", "debian", "org"),
            )
        )
    ),
    "a host that serves scripts to other sites": re.compile(
        "|".join(
            re.escape(".".join(parts))
            for parts in (("jsdelivr", "net"), ("unpkg", "com"), ("cdnjs", "cloudflare"), ("googleapis", "com"))
        )
    ),
}


def _ignored() -> set[str]:
    """Names of the folders that git ignores."""
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    return {".git", *(line.removesuffix("/") for line in lines if line.endswith("/"))}


def _files() -> list[Path]:
    """Every file of the project, generated folders left out, in order."""
    ignored = _ignored()

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if path.name in ignored or path.name.endswith(".egg-info"):
                continue
            if path.is_dir():
                yield from walk(path)
            else:
                yield path

    return list(walk(ROOT))


FILES = _files()


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _under(folder: str, suffixes: tuple[str, ...] = ()) -> list[Path]:
    return [path for path in FILES if ROOT / folder in path.parents and (not suffixes or path.suffix in suffixes)]


def _imported(path: Path) -> set[str]:
    """Every module that a file imports anywhere in it, with the packages that hold it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {".".join(name.split(".")[:length]) for name in names for length in range(1, name.count(".") + 2)}


def _text(path: Path) -> str | None:
    """A file's text; None for one that is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def test_engine_knows_no_http_no_html_and_not_the_app() -> None:
    wrong = {_named(path): found for path in _under("engine", (".py",)) if (found := _imported(path) & ENGINE_NEVER)}
    assert wrong == {}


def test_app_never_imports_torch() -> None:
    wrong = {_named(path): found for path in _under("app", (".py",)) if (found := _imported(path) & APP_NEVER)}
    assert wrong == {}


def test_only_tests_and_measurements_import_tests_and_measurements() -> None:
    files = [*_under("engine", (".py",)), *_under("app", (".py",))]
    wrong = {_named(path): found for path in files if (found := _imported(path) & {"tests", "bench", "pytest"})}
    assert wrong == {}


def test_modules_import_by_their_full_names() -> None:
    relative = [
        _named(path)
        for folder in ("engine", "app", "bench")
        for path in _under(folder, (".py",))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert relative == []


@pytest.mark.parametrize("folder", ["templates", "static"])
def test_templates_and_static_files_hold_no_python(folder: str) -> None:
    assert [_named(path) for path in _under(folder, (".py", ".pyc"))] == []


def test_engine_and_app_hold_no_templates_and_no_scripts() -> None:
    wrong = [path for folder in ("engine", "app") for path in _under(folder, (".html", ".js", ".css"))]
    assert [_named(path) for path in wrong] == []


def test_no_page_draws_a_random_number() -> None:
    files = [*_under("static", (".js", ".mjs", ".ts", ".html")), *_under("templates")]
    assert [_named(path) for path in files if "Math.random" in (_text(path) or "")] == []


def test_no_file_is_longer_than_300_lines_without_a_reason() -> None:
    lengths = {
        _named(path): path.read_text(encoding="utf-8").count("\n")
        for path in FILES
        if path.suffix in (".py", ".js", ".css", ".html")
    }
    long = {name for name, length in lengths.items() if length > MOST_LINES}
    assert {name: lengths[name] for name in long - set(LONGER)} == {}, "too long"
    assert set(LONGER) - long == set(), "short enough to need no reason"


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [_named(path) for path in FILES if path.stem in VAGUE_NAMES or path.parent.name in VAGUE_NAMES] == []


@pytest.mark.parametrize("what", FORBIDDEN_TEXT)
def test_no_file_names(what: str) -> None:
    found = [
        f"{_named(path)}: {match.group()}"
        for path in FILES
        if (text := _text(path)) is not None
        for match in FORBIDDEN_TEXT[what].finditer(text)
    ]
    assert found == []


# The tree in the README: `name/  what it is`, four spaces deeper for each folder. A folder that lists any of its
# members lists them all; one that lists none speaks for what it holds. Names that start with a dot may be left out.

TREE = re.compile(r"^## The tree$.*?^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENT = 4


def _tree() -> dict[str, str]:
    """The README's tree: what it says of each path; folders end in `/`."""
    found = TREE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None, 'the README has no code block under "## The tree"'
    described: dict[str, str] = {}
    folders: list[str] = []
    for line in found.group(1).splitlines():
        name, _, description = line.strip().partition(" ")
        depth = (len(line) - len(line.lstrip())) // INDENT
        folders[depth:] = [name]
        described["".join(folders)] = description.strip()
    return described


def _members(folder: str) -> set[str]:
    """The files and folders straight inside a folder (`""` or `"app/"`), as the tree writes them."""
    inside = [_named(path).removeprefix(folder) for path in FILES if _named(path).startswith(folder)]
    names = {name.split("/")[0] + ("/" if "/" in name else "") for name in inside}
    return {folder + name for name in names if not name.startswith(".") and name != "__init__.py"}


def _tree_line(path: str) -> str:
    """A line for a path as the tree would have it; a module's words are the first of its docstring."""
    name = path.rstrip("/").rpartition("/")[2] + ("/" if path.endswith("/") else "")
    module = ROOT / path / "__init__.py" if path.endswith("/") else ROOT / path
    source = _text(module) if module.suffix == ".py" and module.exists() else None
    words = (ast.get_docstring(ast.parse(source or "")) or "").partition("\n")[0]
    return " " * INDENT * path.rstrip("/").count("/") + f"{name:<20}{words}"


def test_every_line_of_the_readme_tree_is_there_and_says_what_it_is() -> None:
    tree = _tree()
    assert [path for path in tree if not (ROOT / path).exists() or (ROOT / path).is_dir() != path.endswith("/")] == []
    assert [path for path, description in tree.items() if not description] == []


def test_a_folder_of_the_readme_tree_lists_all_its_members_or_none() -> None:
    tree = _tree()
    listed = {path.rstrip("/").rpartition("/")[0] for path in tree}
    folders = {f"{name}/" if name else "" for name in listed}
    missing = {member for folder in folders for member in _members(folder)} - set(tree)
    if missing:
        pytest.fail("the README's tree has no line for:\n" + "\n".join(map(_tree_line, sorted(missing))), pytrace=False)


def test_tests_mirror_the_code() -> None:
    """tests/engine/x/test_y.py tests engine/x/y.py, or is about engine/x as a whole in a folder that exists."""
    folders = {path.parent.relative_to(ROOT / "tests") for path in _under("tests", (".py",)) if path.stem != "conftest"}
    strange = [
        folder.as_posix()
        for folder in folders
        if folder.parts and folder.parts[0] != "browser" and not (ROOT / folder).is_dir()
    ]
    assert strange == []
