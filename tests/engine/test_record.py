"""The recorder: names, taps, and that a recording changes nothing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import engine
from tests.engine.recorded import names, run


def test_default_names_are_module_path_and_operation_with_a_count():
    inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    trace = engine.trace(inner, torch.tensor([1.0, 2.0]))
    assert names(trace) == ["0:linear.0", "1:relu.0", "2:linear.0"]


def test_module_called_twice_counts_on():
    layer = nn.Linear(2, 2)
    trace = run(lambda self, x: self.layer(self.layer(x)).sum(), torch.ones(2), parts={"layer": layer})
    assert names(trace) == ["layer:linear.0", "layer:linear.1", ":sum.0"]
    assert [one.tensor for one in trace.steps[1].inputs if one.role == "input"] == ["layer:linear.0"]


def test_tap_inside_a_part_is_named_under_its_path():
    class Attention(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return engine.tap("scores", x * 2, "query key").sum()

    trace = run(lambda self, x: self.attn(x), torch.ones(2, 3), parts={"attn": Attention()})
    record = trace.record("attn.scores")
    assert [(axis.name, axis.size) for axis in record.axes] == [("query", 2), ("key", 3)]
    assert record.value.tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_tap_outside_a_recording_is_the_identity():
    x = torch.ones(2)
    assert engine.tap("name", x, "unit") is x


def test_second_name_for_a_tensor_is_a_step_of_its_own():
    def forward(self, x):
        z = engine.tap("z", x * 3, "unit")
        return engine.tap("h", z, "unit").sum()

    trace = run(forward, torch.tensor([1.0, 2.0]))
    assert names(trace) == ["z", "h", ":sum.0"]
    assert trace["h"].tolist() == [3.0, 6.0]
    assert trace["h.grad"].tolist() == [1.0, 1.0]
    assert trace["z.grad"].tolist() == [1.0, 1.0]


def test_equal_names_are_told_apart():
    def forward(self, x):
        return sum(engine.tap("part", x * scale) for scale in (2.0, 3.0)).sum()

    trace = run(forward, torch.tensor([1.0]))
    assert [trace[name].item() for name in ("part", "part.1")] == [2.0, 3.0]


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3)),
        nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5).eval(), nn.Softmax(-1)),
        nn.Sequential(nn.Unflatten(1, (2, 2)), nn.Flatten(), nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh()),
        nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3), nn.Flatten(), nn.SiLU()),
    ],
    ids=["mlp", "softmax", "layer_norm", "conv"],
)
def test_exact_recording_leaves_outputs_bit_identical(module):
    x = torch.randn(3, 4)
    expected = module(x)
    out = []
    trace = engine.trace(module, x, loss=lambda output, _: out.append(output) or output.sum(), mode="exact")
    assert torch.equal(out[0], expected)
    assert trace.result["check"]["max_residual"] < 1e-5
    assert all(parameter.grad is None for parameter in module.parameters())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def test_tied_weights_sum_the_gradients_of_both_uses():
    first, second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    second.weight = first.weight
    with torch.no_grad():
        first.weight.copy_(torch.eye(2))
    trace = run(lambda self, x: self.b(self.a(x)).sum(), torch.tensor([1.0, 2.0]), parts={"a": first, "b": second})
    assert [record.name for record in trace.tensors.values() if record.kind == "parameter"] == ["a.weight"]
    parts = [one.tensor for step in trace.steps for one in step.sends if one.to == "a.weight.grad"]
    assert len(parts) == 2
    assert torch.equal(sum(trace[name] for name in parts), trace["a.weight.grad"])


def test_no_path_to_the_loss_is_no_path_and_not_zero():
    def forward(self, x):
        with torch.no_grad():
            cut = engine.tap("cut", x * 3)
        side = engine.tap("side", x * 5)
        return (cut + x).sum() + 0 * side.detach().sum()

    trace = run(forward, torch.tensor([1.0]))
    assert trace.record("cut").gradient is None
    assert trace.record("side").gradient is None
    assert engine.explain(trace, "side", [0], what="gradient").note == "no path"


def test_operation_that_returns_its_input_is_not_a_step():
    def forward(self, x):
        y = x * 2
        same = F.dropout(y.contiguous().to(torch.float32), 0.5, training=False)
        return same.sum()

    assert names(run(forward, torch.tensor([1.0]))) == [":mul.0", ":sum.0"]


def test_operation_without_a_row_is_recorded_and_linearised():
    trace = run(lambda self, x: torch.special.i0(x).sum(), torch.tensor([1.0, 2.0]))
    step = trace.steps[0]
    assert step.note == "linearised"
    assert trace[step.name].tolist() == torch.special.i0(torch.tensor([1.0, 2.0])).tolist()
    assert trace.result["check"]["max_residual"] == 0.0
