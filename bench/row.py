"""One measured figure, beside the most that it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table.

    what:    what was measured, in words.
    value:   the figure, in `unit` ("x" for a ratio, "ms", "requests/s", "KB").
    at_most: the target; None where there is none. at_least: the same for figures that should be high.
    detail:  what the figure was made of ("1.31 ms / 1.10 ms").
    """

    what: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    detail: str = ""

    @property
    def target(self) -> str:
        """The target as it is written in the table; empty where there is none."""
        if self.at_most is not None:
            return f"<= {self.at_most:g} {self.unit}"
        if self.at_least is not None:
            return f">= {self.at_least:g} {self.unit}"
        return ""

    @property
    def verdict(self) -> str:
        """`yes` or `no`: whether the figure reaches its target; empty where there is none."""
        if not self.target:
            return ""
        low = self.at_least is None or self.value >= self.at_least
        high = self.at_most is None or self.value <= self.at_most
        return "yes" if low and high else "no"
