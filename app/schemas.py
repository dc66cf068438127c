"""What may be sent, with bounds and examples: unknown fields, text for numbers, NaN and infinities are refused.

Single values are in value_schemas.py, what comes back in answer_schemas.py.
Names of inputs, parameters and activations are the model's to check.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.errors import shown
from app.value_schemas import Given, Number, Scalar, Values, refuse

MAX_EDITS = 4096
MAX_INTERVENTIONS = 256
MAX_FROZEN = 4096
MAX_RANK = 8
MAX_TRAINING_STEPS = 100_000
MAX_TERMS = 4096
MAX_PATHS = 4096

TINY_REQUEST: Any = {
    "inputs": {"x": [2, -1]},
    "target": 4,
    "edits": [{"parameter": "readout.weight", "index": [0, 0], "value": 1.55}],
    "interventions": [{"at": "hidden.activation", "index": [1], "set": 0}],
    "update": {"rule": "sgd", "learning_rate": 0.1, "frozen": [{"parameter": "hidden.weight", "index": None}]},
}


Name = Annotated[str, Field(min_length=1, max_length=200)]
Identifier = Annotated[str, Field(min_length=1, max_length=100)]
Place = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Index = Annotated[list[Place | None], Field(max_length=MAX_RANK)]
Cell = Annotated[list[Place], Field(max_length=MAX_RANK)]


Steps = Annotated[int, Field(strict=True, ge=1, le=MAX_TRAINING_STEPS)]
Recipe = Annotated[dict[Name, Scalar], Field(max_length=16)]


class Strict(BaseModel):
    """Unknown fields are refused, with the known ones named."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        for name in value if isinstance(value, dict) else ():
            if name not in cls.model_fields:
                raise refuse(f"be one of {', '.join(cls.model_fields)}", shown(name), (name,))
        return value


class Edit(Strict):
    """A parameter's cell with another value; null in the index is all of that axis."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"parameter": "readout.weight", "index": [0, 0], "value": 1.55}]}
    )

    parameter: Name
    index: Index
    value: Number


class Intervention(Strict):
    """An activation's cells replaced before anything reads them: exactly one of set, scale, add and patch.

    patch takes values of the shape that the index selects, copied from another run.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"at": "hidden.activation", "index": [1], "set": 0}],
            "oneOf": [{"required": [kind]} for kind in ("set", "scale", "add", "patch")],
        }
    )

    at: Name
    index: Index
    set: Number = None
    scale: Number = None
    add: Number = None
    patch: Values = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Intervention:
        given = [kind for kind in ("set", "scale", "add", "patch") if kind in self.model_fields_set]
        if len(given) != 1:
            raise refuse("have exactly one of set, scale, add and patch", " and ".join(given) or "none of them")
        return self


class Frozen(Strict):
    """Parameter cells that take part and are not updated; no index is the whole parameter."""

    parameter: Name
    index: Index | None = None


class Update(Strict):
    """One step of gradient descent, or AdamW's first, on every parameter cell that is not frozen.

    betas, epsilon and weight_decay are AdamW's; by default PyTorch's 0.9 and 0.999, 1e-8 and 0.01.
    """

    rule: Literal["sgd", "adamw"] = "sgd"
    learning_rate: Number
    frozen: Annotated[list[Frozen], Field(max_length=MAX_FROZEN)] = []
    betas: Annotated[list[Number], Field(min_length=2, max_length=2)] = [0.9, 0.999]
    epsilon: Number = 1e-8
    weight_decay: Number = 0.01


class RunRequest(Strict):
    """What every run takes. All of it is optional: the model's defaults fill in what is left out."""

    inputs: Annotated[dict[Name, Given] | None, Field(max_length=16)] = None
    target: Given | None = None
    edits: Annotated[list[Edit], Field(max_length=MAX_EDITS)] = []
    update: Update | None = None
    options: Annotated[dict[Name, Scalar], Field(max_length=16)] = {}
    seed: Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)] | None = None


class TraceRequest(RunRequest):
    """One run to record. `stream` answers in JSON lines as each step is computed."""

    model_config = ConfigDict(json_schema_extra={"examples": [TINY_REQUEST, {}]})

    interventions: Annotated[list[Intervention], Field(max_length=MAX_INTERVENTIONS)] = []
    backward: bool = True
    mode: Literal["explain", "exact"] = "explain"
    stream: bool = False


class TrainRequest(RunRequest):
    """Gradient descent from the edited parameters: `update` (by default rate 0.1, nothing frozen), `steps` times.

    recipe: what a model's own loop takes besides; of others, {"optimiser": "sgd"}, "momentum" or "adam". background:
    answer at once; the run goes on by itself.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"inputs": {"x": [2, -1]}, "target": 4, "update": {"rule": "sgd", "learning_rate": 0.01}, "steps": 100}
            ]
        }
    )

    steps: Steps = 100
    recipe: Recipe = {}
    background: bool = False


class ResumeRequest(Strict):
    """How many steps to go before the run pauses again; by default to its end."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"steps": 1}, {}]})

    steps: Steps | None = None


class ForkRequest(Strict):
    """The step to branch off at, and what is different from there on; what is left out stays as it was."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"step": 10, "update": {"rule": "sgd", "learning_rate": 0.02}}]}
    )

    step: Annotated[int, Field(strict=True, ge=0, le=MAX_TRAINING_STEPS)]
    steps: Steps | None = None
    update: Update | None = None
    recipe: Recipe = {}


class CellRequest(Strict):
    """One cell of a tensor of the trace; the index is empty for a single number."""

    tensor: Name
    index: Cell = []


_CELL_EXAMPLES: Any = [{"tensor": "hidden.preactivation", "index": [1], "what": "value"}]


class ExplainRequest(CellRequest):
    """Which cell, its value or its gradient, and how many terms a sum may show before the rest is added up."""

    model_config = ConfigDict(json_schema_extra={"examples": _CELL_EXAMPLES})

    what: Literal["value", "gradient"] = "value"
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_TERMS)] = 32


class VerifyRequest(CellRequest):
    """Which cell, and whether to recompute its value or check its gradient by finite differences too."""

    model_config = ConfigDict(json_schema_extra={"examples": _CELL_EXAMPLES})

    what: Literal["value", "gradient"] = "value"


class PathsRequest(CellRequest):
    """Which cell's gradient, and how many paths to show before the rest is added up."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tensor": "hidden.weight", "index": [1, 0]}]})

    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_PATHS)] = 64


class CompareRequest(Strict):
    """The trace to compare with: the baseline."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"other": "id of the unedited run"}]})

    other: Identifier


class CheckRequest(Strict):
    """An answer as typed: 9/2, 4.5 and 4,5 are the same. `seed` names the variant that was asked."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"answer": "13/2", "seed": 0}]})

    answer: Annotated[str, Field(max_length=2000)]
    seed: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] = 0


def as_request(body: RunRequest | ForkRequest) -> dict[str, Any]:
    """The request as the engine takes it: what was given, without what only the service reads."""
    return body.model_dump(exclude_unset=True, exclude={"stream", "steps", "recipe", "background"})
