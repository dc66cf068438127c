"""What the engine says when it is asked for something it can't do. Every message says expected and got."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.trace import Trace


class InputError(ValueError):
    """A value that a caller sent does not fit.

    field: its path in the request ("inputs.x", "edits[0].parameter"). expected, got: what was wanted and what came.
    """

    def __init__(self, field: str, expected: str, got: object) -> None:
        self.field = field
        self.expected = expected
        self.got = str(got)
        super().__init__(f"{field} must {expected}; got {self.got}")


class RunError(RuntimeError):
    """The model itself raised. `trace` is the record up to there; the model's own error is `__cause__`."""

    def __init__(self, message: str, trace: Trace) -> None:
        self.trace = trace
        super().__init__(message)


class Stopped(BaseException):
    """Carries an error of ours out through a model that may catch exceptions; `trace` raises `error` in its place."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__(str(error))
