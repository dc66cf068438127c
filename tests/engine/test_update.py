"""An update's parts against PyTorch's own optimisers, to the bit, and each of its cells against its explanation."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

import engine
from engine.expression import leaves
from engine.models import catalogue
from engine.update import Frozen, Update

PARTS = ("adamw_first_moment", "adamw_second_moment", "adamw_denominator", "adamw")


def mean_square(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return ((output - target) ** 2).mean()


def layers(seed: int, dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.LayerNorm(7), nn.Linear(7, 3)).to(dtype)


def given(seed: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1000 + seed)
    return torch.randn(4, 5, dtype=dtype), torch.randn(4, 3, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learning_rate": 0.3, "betas": (0.3, 0.5), "weight_decay": 0.2},
        {"learning_rate": 1e-4, "betas": (0.0, 0.0), "epsilon": 1e-3, "weight_decay": 0.0},
        {"learning_rate": 0.0},
    ],
    ids=["defaults", "short memories", "no memories", "no rate"],
)
@pytest.mark.parametrize("seed", range(3))
def test_adamw_is_pytorch_s_to_the_bit(seed, settings, dtype):
    update = Update(**{"learning_rate": 0.01, **settings}, rule="adamw")
    module, (inputs, target) = layers(seed, dtype), given(seed, dtype)
    trace = engine.trace(module, inputs, target=target, loss=mean_square, update=update, mode="exact")
    optimiser = torch.optim.AdamW(
        module.parameters(), update.learning_rate, update.betas, update.epsilon, update.weight_decay
    )
    mean_square(module(inputs), target).backward()
    optimiser.step()
    for name, parameter in module.named_parameters():
        state = optimiser.state[parameter]
        assert torch.equal(trace[f"{name}.first_moment"], state["exp_avg"]), name
        assert torch.equal(trace[f"{name}.second_moment"], state["exp_avg_sq"]), name
        assert torch.equal(trace[f"{name}.updated"], parameter), name


def tiny(update: dict | None = None, **request: object) -> engine.Trace:
    adamw = {"rule": "adamw", "learning_rate": 0.01, **(update or {})}
    return catalogue()["tiny_network"].trace({"update": adamw, **request})


def test_each_part_of_adamw_is_a_step_of_its_own():
    trace = tiny()
    steps = [step for step in trace.steps if step.phase == "update"]
    assert [step.op for step in steps] == ["adamw_rate", *(PARTS * 4)]
    assert [step.output for step in steps[1:5]] == [
        f"hidden.weight.{part}" for part in ("first_moment", "second_moment", "denominator", "updated")
    ]
    assert steps[0].symbol == "η̂ = η / (1 − 0.9¹)"
    assert [step.symbol for step in steps[1:5]] == [
        "m(W) = 0.9 · 0 + (1 − 0.9) ∂L/∂W",
        "v(W) = 0.999 · 0 + (1 − 0.999) (∂L/∂W)²",
        "d(W) = √(v(W) / (1 − 0.999¹)) + ε",
        "W′ = (1 − η · 0.01) W − η̂ m(W) / d(W)",
    ]
    assert all(step.tex for step in steps)


def test_the_first_step_is_the_rate_whatever_the_size_of_the_gradient():
    """m̂ = g and v̂ = g², so that each cell with a gradient moves by η against its sign, after the decay."""
    trace = tiny({"weight_decay": 0})
    for name in ("hidden.weight", "hidden.bias", "readout.weight", "readout.bias"):
        moved = trace[f"{name}.updated"] - trace[name]
        assert torch.allclose(moved, -0.01 * trace[f"{name}.grad"].sign(), atol=1e-7)


def test_weight_decay_shrinks_a_cell_without_a_gradient():
    trace = tiny({"weight_decay": 0.5}, inputs={"x": [0, 1]})
    assert trace["hidden.weight.grad"][1, 0] == 0
    assert trace["hidden.weight.updated"][1, 0].item() == pytest.approx(0.5 * (1 - 0.01 * 0.5), rel=1e-7)


@pytest.mark.parametrize("mode", ["explain", "exact"])
def test_every_cell_of_every_part_explains_itself_and_is_proved(mode):
    trace = tiny({"frozen": [{"parameter": "readout.weight", "index": [0, 1]}]}, mode=mode)
    for step in trace.steps:
        if step.phase != "update":
            continue
        for index in itertools.product(*map(range, trace[step.output].shape)):
            found = engine.explain(trace, step.output, index)
            assert found.residual == pytest.approx(0, abs=1e-6)
            for leaf in leaves(found.expression):
                assert leaf.value == float(trace[leaf.tensor][leaf.index])
            assert engine.verify(trace, step.output, index).ok


def test_frozen_cells_keep_their_value_under_adamw_too():
    trace = tiny({"frozen": [{"parameter": "hidden.weight"}, {"parameter": "readout.weight", "index": [0, 2]}]})
    assert torch.equal(trace["hidden.weight.updated"], trace["hidden.weight"])
    assert (trace["readout.weight.updated"] == trace["readout.weight"]).tolist() == [[False, False, True]]
    assert trace.result["after_update"]["updatable"] == 6
    assert [step.note for step in trace.steps if step.op == "adamw"] == ["frozen", "", "", ""]


def test_adamw_s_request_has_its_defaults_and_one_id():
    whole = tiny().request["update"]
    assert whole == {
        "rule": "adamw", "learning_rate": 0.01, "frozen": [],
        "betas": [0.9, 0.999], "epsilon": 1e-8, "weight_decay": 0.01,
    }  # fmt: skip
    assert tiny().id == tiny({"betas": [0.9, 0.999]}).id != tiny({"betas": [0.5, 0.999]}).id


def test_names_that_a_model_took_are_not_taken_again():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.learning_rate = nn.Parameter(torch.tensor([2.0]))

        def forward(self, x):
            return (self.learning_rate * engine.tap("learning_rate.first_moment", x * 1, "")).sum()

    trace = engine.trace(Named(), torch.tensor([3.0]), update=Update(0.5, rule="adamw", weight_decay=0.0))
    assert trace["learning_rate.first_moment"].item() == 3
    assert trace["update.learning_rate.first_moment"].item() == pytest.approx(0.3)
    assert trace["learning_rate.updated"].item() == pytest.approx(1.5)


def test_frozen_places_are_checked():
    with pytest.raises(engine.InputError, match=r"update.frozen\[0\].parameter must be one of weight, bias"):
        engine.trace(
            nn.Linear(1, 1), torch.ones(1), update=Update(0.1, (Frozen("w"),), rule="adamw"),
            target=torch.ones(1), loss=mean_square,
        )  # fmt: skip


def test_streamed_steps_bring_every_record_they_need_once():
    told: list[str] = []
    trace = catalogue()["tiny_network"].trace(
        {"update": {"rule": "adamw", "learning_rate": 0.1}},
        on_step=lambda step, records: told.extend(one.name for one in records) if step.phase == "update" else None,
    )
    assert len(told) == len(set(told))
    assert {name for step in trace.steps if step.phase == "update" for name in step.outputs} <= set(told)
