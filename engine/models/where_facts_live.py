"""Where facts live: an MLP as rows of memory, each a key that is matched, a gate, and a value that is written.

Two facts are written by hand, the third row is empty for one of the reader's own. The same network can start from small
random numbers, or from what gradient descent made of those on the four cases of one fact.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fields import InputField
from engine.models.hand_built import table
from engine.models.model import Model, Option
from engine.tap import tap
from engine.training.descent import Descent, descend

FEATURES = ("Michael", "Jordan", "Serena", "Williams", "Phelps", "basketball", "tennis", "swimming")
FACTS = ("Michael Jordan", "Serena Williams", "empty")
BIAS = -1.5  # one name reaches -0.5, both 0.5: the row speaks for both together only
KEYS: dict[str, dict[str, float]] = {
    "Michael Jordan": {"Michael": 1, "Jordan": 1},
    "Serena Williams": {"Serena": 1, "Williams": 1},
}
VALUES: dict[str, dict[str, float]] = {"Michael Jordan": {"basketball": 1}, "Serena Williams": {"tennis": 1}}
CASES = ((0, 0), (1, 0), (0, 1), (1, 1))
"""Whether the text holds M, and J."""
SEED, SPREAD = 3, 0.3
RATE, STEPS = 0.5, 100


class FactStore(nn.Module):
    """y = x + V gate(K x + b): row n of K is a key, column n of V the value that is written as far as the gate opens.

    x: [feature] or [example, feature]; the prediction has the same shape.
    Sources: Geva et al. 2021 (feed-forward layers as key-value memories); the table of M, J and B is a popular text's.
    """

    symbols: ClassVar = {
        "x": "x",
        "target": "t",
        "key.weight": "K",
        "key.bias": "b",
        "value.weight": "V",
        "match": "z",
        "gate": "g",
        "written": "Δ",
        "prediction": "y",
        "error": "E",
        "squares": "E²",
        "distance": "ΣE²",
        "half": "ΣE²/2",
        "loss": "L",
    }
    axes: ClassVar = {
        "x": "feature",
        "target": "feature",
        "key.weight": "neuron feature",
        "key.bias": "neuron",
        "value.weight": "feature neuron",
    }

    def __init__(self, activation: str = "relu", weights: str = "written") -> None:
        super().__init__()
        self.activation = activation
        self.key = nn.Linear(len(FEATURES), len(FACTS))
        self.value = nn.Linear(len(FACTS), len(FEATURES), bias=False)
        with torch.no_grad():
            if weights == "written":
                self.key.weight.copy_(table(FACTS, FEATURES, KEYS))
                self.key.bias.copy_(torch.tensor([BIAS, BIAS, 0]))
                self.value.weight.copy_(table(FACTS, FEATURES, VALUES).T)
            else:
                chance = torch.Generator().manual_seed(SEED)
                for parameter in self.parameters():
                    parameter.copy_(torch.randn(parameter.shape, generator=chance) * SPREAD)
        if weights == "learned":
            self.load_state_dict(dict(learn(activation)[-1].parameters))

    def forward(self, x: Float[Tensor, "*example feature"]) -> Float[Tensor, "*example feature"]:
        match = tap("match", self.key(x), "neuron")
        gate = tap("gate", F.relu(match) if self.activation == "relu" else F.gelu(match), "neuron")
        written = tap("written", self.value(gate), "feature")
        return tap("prediction", x + written, "feature")


def loss(prediction: Float[Tensor, "*example feature"], target: Float[Tensor, "*example feature"]) -> Tensor:
    """Half the squared distance of the vectors, averaged over the examples."""
    error = tap("error", prediction - target, "feature")
    distance = tap("distance", tap("squares", error.square(), "feature").sum(-1))
    return tap("loss", tap("half", distance / 2).mean())


def vector(*names: str) -> list[float]:
    """A text as the sum of the directions of its names. Raises ValueError for a name that is no feature."""
    return table(("text",), FEATURES, {"text": dict.fromkeys(names, 1.0)})[0].tolist()


def cases() -> tuple[list[list[float]], list[list[float]]]:
    """The four cases: the vectors, and what they should become, which is with basketball only for both names."""
    inputs = [vector(*(name for name, there in zip(FEATURES, case, strict=False) if there)) for case in CASES]
    whole = vector("Michael", "Jordan", "basketball")
    targets = [whole if all(case) else x for case, x in zip(CASES, inputs, strict=True)]
    return inputs, targets


@functools.lru_cache(maxsize=16)
def learn(activation: str, rate: float = RATE, steps: int = STEPS) -> tuple[Descent, ...]:
    """Gradient descent on the four cases from the untrained network: the start and every step after it."""
    inputs, targets = (torch.tensor(rows) for rows in cases())
    start = FactStore(activation, "untrained")
    return tuple(descend(start, {"x": inputs}, target=targets, loss=loss, learning_rate=rate, steps=steps))


MODEL = Model(
    name="where_facts_live",
    title="Where facts live",
    summary="An MLP of three rows: two facts written by hand, and one empty row for a fact of your own.",
    build=FactStore,
    loss=loss,
    inputs=(InputField("x", size=len(FEATURES), default=tuple(vector("Michael", "Jordan"))),),
    target=InputField("target", size=len(FEATURES), default=tuple(vector("Michael", "Jordan", "basketball"))),
    options=(
        Option("activation", "Gate", {"relu": "ReLU", "gelu": "GELU"}, default="relu"),
        Option(
            "weights",
            "Weights",
            {"written": "written by hand", "untrained": "before training", "learned": "learned"},
            default="written",
        ),
    ),
    labels={"feature": FEATURES, "neuron": FACTS},
)
