"""Prints one table of what every module here measures: `python -m bench`, or `python -m bench engine pages`.

A part is a module of this package with a `measure()` that yields rows. A part that fails is named and the others go
on; the exit code is then 1. A missed target is printed, not raised.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator

import bench
from bench.row import Row

WIDTHS = (58, 18, 18, 5)


def parts() -> dict[str, Callable[[], Iterator[Row]]]:
    """Every part's `measure`, by the module's name."""
    found = {}
    for module in pkgutil.iter_modules(bench.__path__):
        if module.name != "__main__":
            measure = getattr(importlib.import_module(f"bench.{module.name}"), "measure", None)
            if measure is not None:
                found[module.name] = measure
    return found


def line(*columns: str) -> str:
    """One line of the table; the last column takes the rest."""
    return "  ".join([text.ljust(width) for text, width in zip(columns, WIDTHS, strict=False)] + [columns[-1]]).rstrip()


def main(names: list[str]) -> int:
    """Measures the named parts, or all; returns the exit code."""
    known = parts()
    if unknown := set(names) - set(known):
        print(f"expected parts among {', '.join(known)}; got {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    failed = []
    print(line("what", "measured", "target", "met", "of"))
    for name in names or known:
        print(f"\n{name}")
        try:
            for row in known[name]():
                print(line(row.what, f"{row.value:.4g} {row.unit}", row.target, row.verdict, row.detail), flush=True)
        except Exception:
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"\nnot measured to the end: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
