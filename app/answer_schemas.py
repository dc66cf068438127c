"""What comes back, for the OpenAPI: models that describe the answers. Those are plain data and not checked here.

A test holds the answers against these. What may be sent is in schemas.py.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Index = list[int]
Data = Any  # a number, null, true, false, or lists of these nested like the axes


class Answer(BaseModel):
    """Fields beyond the named ones are allowed to come: `..._nonfinite` beside a null number."""

    model_config = ConfigDict(extra="allow")


class Axis(Answer):
    """A named dimension; labels name its members where they have names."""

    name: str
    size: int
    labels: list[str] | None = Field(default=None)


class Stats(Answer):
    """Over the finite values, in float64; std is the population's. zeros and nonfinite are counts."""

    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    norm: float | None
    zeros: int
    nonfinite: int


class Nonfinite(Answer):
    """A cell that JSON has no number for."""

    index: Index
    value: Literal["nan", "inf", "-inf"]


class Tensor(Answer):
    """One tensor: `data` up to 4,096 values, beyond that `href`."""

    name: str
    symbol: str
    kind: Literal["input", "parameter", "activation", "gradient", "constant"]
    axes: list[Axis]
    shape: list[int]
    dtype: str
    gradient: str | None = Field(description="Name of its gradient; null where the loss has no path here.")
    stats: Stats
    data: Data = None
    href: str | None = None
    nonfinite: list[Nonfinite] | None = None


class Operand(Answer):
    role: str
    tensor: str


class Sent(Answer):
    """What a backward step sends to the operand in `role`: `tensor` holds it, `to` is the gradient it is part of."""

    role: str
    tensor: str
    to: str


class Step(Answer):
    """One operation; `forward` is the step that a backward step undoes."""

    index: int
    phase: Literal["forward", "loss", "backward", "update"]
    op: str
    name: str
    symbol: str
    scope: str
    tex: str
    inputs: list[Operand]
    output: str
    outputs: list[str]
    flops: int
    attributes: dict[str, Any]
    note: str
    forward: int | None = None
    sends: list[Sent] | None = None


class TraceAnswer(Answer):
    """A whole run; tensors by name, in order of appearance. The same question has the same id."""

    schema_: str = Field(alias="schema")
    id: str
    request: dict[str, Any]
    model: dict[str, Any]
    steps: list[Step]
    tensors: dict[str, Tensor]
    result: dict[str, Any]
    links: dict[str, str]


class TraceLine(Answer):
    """One line of a streamed run."""

    type: Literal["open", "step", "tensor", "done", "error"]


class TrainLine(Answer):
    """One line of a training run."""

    type: Literal["open", "progress", "done", "error"]


class RunAnswer(Answer):
    """A training run. `last` is the latest point of its curve; `note` says why it is in its state, where it is not
    plain; `parent` and `fork_step` where it branched off.
    """

    id: str
    model: str
    state: Literal["running", "paused", "done", "cancelled", "failed"]
    note: str
    steps: int
    step: int
    last: dict[str, Any] | None
    request: dict[str, Any]
    recipe: dict[str, Any]
    parent: str | None
    fork_step: int | None
    created: float
    updated: float
    links: dict[str, str]


class RunList(Answer):
    """The newest first."""

    runs: list[RunAnswer]


class RunProgress(Answer):
    """The curve: a point holds step, loss and what else the model's loop measures."""

    run: RunAnswer
    points: list[dict[str, Any]]


class RunParameters(Answer):
    """Of the run's last checkpoint, at most a second old; each tensor has dtype, shape and data (or bdata)."""

    run: str
    step: int
    tensors: dict[str, dict[str, Any]]


class InputField(Answer):
    """`size` numbers a row, at most `rows` rows, each number at most `limit` in size and not under `least`.

    Where `words` are given, a member is one of them, or its place among them.
    """

    name: str
    size: int
    default: list[float | str]
    rows: int
    limit: float
    least: float | None
    words: list[str] | None


class ModelOption(Answer):
    name: str
    title: str
    values: dict[str, str]
    default: str


class ModelDescription(Answer):
    """What a model takes and holds; `cost` is of its default request."""

    name: str
    title: str
    summary: str
    parameter_count: int
    parameters: list[dict[str, Any]]
    activations: list[dict[str, Any]]
    inputs: list[InputField]
    target: InputField | None
    labels: dict[str, str | list[str]]
    options: list[ModelOption]
    defaults: dict[str, Any]
    cost: dict[str, int]
    links: dict[str, str]


class Models(Answer):
    models: list[ModelDescription]


class TensorValues(Answer):
    """`data` for enc=json, `bdata` (base64) for enc=b64."""

    name: str
    dtype: str
    shape: list[int]
    data: Data = None
    bdata: str | None = None
    nonfinite: list[Nonfinite] | None = None


class LessonSummary(Answer):
    slug: str
    title: str
    part: str
    order: int
    summary: str
    model: str
    links: dict[str, str]


class Lessons(Answer):
    lessons: list[LessonSummary]


class LessonDescription(LessonSummary):
    request: dict[str, Any]


class ExerciseAnswer(Answer):
    n: int
    kind: Literal["number", "choice", "thought"]
    prompt: str


class Exercises(Answer):
    seed: int
    exercises: list[ExerciseAnswer]


class VerdictAnswer(Answer):
    """status: right, wrong, open (not marked), unread (`message` says what was expected and got)."""

    n: int
    status: Literal["right", "wrong", "unread", "open"]
    message: str


class FieldError(Answer):
    field: str
    message: str
    expected: str | None = None
    got: str | None = None


class ProblemAnswer(Answer):
    """RFC 9457. `errors` says for each field what was expected and what came."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError]
