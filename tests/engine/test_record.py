"""The recorder: names, in-place writes, odd arguments, and that a recording changes nothing."""

from __future__ import annotations

import contextlib
import gc
import weakref
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import engine


class Calls(nn.Module):
    """Runs a function as its forward, with a few layers at hand."""

    def __init__(self, function, **parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


def run(function, *inputs, parts=None, **options):
    return engine.trace(Calls(function, **(parts or {})), inputs, **options)


def names(trace) -> list[str]:
    return [step.name for step in trace.steps if step.phase in ("forward", "loss")]


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
    ("write", "expected"),
    [
        (lambda y: y.add_(1), [3.0, 5.0]),
        (lambda y: y.mul_(2), [4.0, 8.0]),
        (lambda y: y.relu_(), [2.0, 4.0]),
        (lambda y: F.relu(y, inplace=True), [2.0, 4.0]),
        (lambda y: y.__setitem__(0, 9.0), [9.0, 4.0]),
        (lambda y: torch.mul(y.detach(), 3, out=y.detach()), [6.0, 12.0]),
        (lambda y: y.__iadd__(1), [3.0, 5.0]),
    ],
    ids=["add_", "mul_", "relu_", "relu(inplace=True)", "setitem", "out=", "+="],
)
def test_value_recorded_before_an_in_place_write_stays_what_it_was(write, expected):
    def forward(self, x):
        y = x * 2
        write(y)
        return y.sum()

    trace = run(forward, torch.tensor([1.0, 2.0]))
    assert trace[":mul.0"].tolist() == [2.0, 4.0]
    last = (
        trace.steps[-1] if trace.steps[-1].phase == "forward" else [s for s in trace.steps if s.phase == "forward"][-1]
    )
    assert trace[last.operand("input")].tolist() == expected
    assert trace.result["prediction"] == sum(expected)


def test_gradient_recorded_before_an_in_place_relu_stays_what_it_was():
    """An edge pinned at capture: relu_ lets nothing through at -1, although the buffer holds 0 by then."""

    def forward(self, x):
        y = x * torch.tensor([3.0, 5.0])
        y.relu_()
        return (y * y).sum() / 2

    trace = run(forward, torch.tensor([1.0, -1.0]))
    assert trace[":mul.0"].tolist() == [3.0, -5.0]
    assert trace[":mul.0.grad"].tolist() == [3.0, 0.0]
    assert trace["input.0.grad"].tolist() == [9.0, 0.0]
    assert trace.result["check"]["max_residual"] == 0.0


def test_base_written_through_a_view_is_read_with_its_new_values():
    def forward(self, x):
        y = x * 1.0
        first = y[0]
        first.mul_(10)
        return (y * torch.tensor([1.0, 2.0])).sum()

    trace = run(forward, torch.tensor([1.0, 2.0]))
    assert trace.result["prediction"] == 14.0
    assert trace[":mul.0"].tolist() == [1.0, 2.0]
    assert trace[":mul.0:changed"].tolist() == [10.0, 2.0]
    assert trace.result["check"]["max_residual"] == 0.0


def test_view_of_a_base_that_is_written_is_read_with_its_new_values():
    def forward(self, x):
        y = x * 1.0
        first = y[:1]
        y.mul_(10)
        return (first * 3).sum()

    trace = run(forward, torch.tensor([1.0, 2.0]))
    assert trace.result["prediction"] == 30.0
    assert trace.result["check"]["max_residual"] == 0.0


def test_input_may_be_written_to():
    def forward(self, x):
        x[0] = 5.0
        return x.sum()

    given = torch.tensor([1.0, 2.0])
    trace = run(forward, given)
    assert given.tolist() == [1.0, 2.0]
    assert trace.result["prediction"] == 7.0
    assert trace.record(next(iter(trace.tensors))).value.tolist() == [1.0, 2.0]


def test_buffer_that_forward_writes_stays_what_it_was_on_the_shared_module():
    norm = nn.BatchNorm1d(2)
    before = norm.running_mean.clone()
    trace = engine.trace(norm, torch.tensor([[1.0, 2.0], [3.0, 6.0]]), loss=lambda out, _: out.square().sum())
    assert torch.equal(norm.running_mean, before)
    assert trace["running_mean"].tolist() == [0.0, 0.0]


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


def test_keyword_and_plain_arguments_are_passed_on():
    def forward(self, x, scale, *, shift):
        return (x * scale + shift).sum()

    module = Calls(forward)
    trace = engine.trace(module, {"x": torch.tensor([1.0, 2.0]), "scale": 3, "shift": 1.0})
    assert trace.result["prediction"] == 11.0


@dataclass
class Output:
    logits: Tensor
    extra: Tensor | None = None


@pytest.mark.parametrize(
    "pack",
    [lambda y: (y, None), lambda y: {"logits": y}, lambda y: Output(y)],
    ids=["tuple", "dict", "dataclass"],
)
def test_structured_outputs_reach_the_loss_as_they_are(pack):
    def loss(output, _):
        y = output[0] if isinstance(output, tuple) else output["logits"] if isinstance(output, dict) else output.logits
        return y.sum()

    trace = run(lambda self, x: pack(x * 2), torch.tensor([1.0, 2.0]), loss=loss)
    assert trace.result["loss"] == 6.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_floating_types_keep_their_type_and_get_gradients(dtype):
    trace = run(lambda self, x: (x * x).sum(), torch.tensor([1.0, 2.0], dtype=dtype))
    assert trace[":mul.0"].dtype == dtype
    first = next(iter(trace.tensors.values()))
    assert trace[first.gradient].tolist() == [2.0, 4.0]


def test_integer_and_bool_tensors_have_no_gradient():
    def forward(self, ids, keep):
        return torch.where(keep, self.table(ids).sum(-1), 0.0).sum()

    table = nn.Embedding(3, 2, _weight=torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    trace = run(forward, torch.tensor([0, 2]), torch.tensor([True, False]), parts={"table": table})
    assert trace.result["prediction"] == 3.0
    assert [record.gradient for record in list(trace.tensors.values())[:2]] == [None, None]
    assert trace["table.weight.grad"].tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


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


def test_empty_tensors_are_recorded():
    trace = run(lambda self, x: (x * 2).sum(), torch.zeros(0, 3))
    assert trace.result["prediction"] == 0.0
    assert trace[":mul.0.grad"].shape == (0, 3)


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


def test_random_operation_runs_again_with_the_state_it_had():
    def forward(self, x):
        return (F.dropout(x, 0.5, training=True) * torch.arange(1.0, 9.0)).sum()

    one, two = (run(forward, torch.ones(8), seed=3) for _ in range(2))
    assert one.result == two.result
    assert one.result["check"]["max_residual"] == 0.0
    assert run(forward, torch.ones(8), seed=4).result["prediction"] != one.result["prediction"]


def test_seeded_run_leaves_the_thread_s_own_random_state():
    torch.manual_seed(7)
    expected = torch.rand(1).item()
    torch.manual_seed(7)
    run(lambda self, x: F.dropout(x, 0.5, training=True).sum(), torch.ones(4), seed=1)
    assert torch.rand(1).item() == expected


def test_model_that_raises_half_way_gives_the_trace_so_far():
    def forward(self, x):
        engine.tap("y", x * 2)
        raise ZeroDivisionError("half way")

    with pytest.raises(engine.RunError, match="ZeroDivisionError: half way") as caught:
        run(forward, torch.tensor([1.0]))
    assert caught.value.trace["y"].tolist() == [2.0]
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_error_in_a_part_that_the_model_catches_does_not_shift_later_names():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError

    def forward(self, x):
        with contextlib.suppress(ValueError):
            self.bad(x)
        return self.good(x).sum()

    trace = run(forward, torch.ones(2), parts={"bad": Fails(), "good": nn.ReLU()})
    assert names(trace)[0] in ("good:relu.0",)


def test_operation_without_a_row_is_recorded_and_linearised():
    trace = run(lambda self, x: torch.special.i0(x).sum(), torch.tensor([1.0, 2.0]))
    step = trace.steps[0]
    assert step.note == "linearised"
    assert trace[step.name].tolist() == torch.special.i0(torch.tensor([1.0, 2.0])).tolist()
    assert trace.result["check"]["max_residual"] == 0.0


def test_nothing_of_a_run_is_kept_when_its_trace_is_dropped():
    module = nn.Linear(2, 1)
    trace = engine.trace(module, torch.ones(2))
    kept = weakref.ref(trace["bias"])
    del trace
    gc.collect()
    assert kept() is None


def test_module_that_replaces_its_forward_is_refused():
    module = nn.Linear(2, 1)
    module.forward = lambda x: x
    with pytest.raises(engine.InputError, match="must use its class's forward"):
        engine.trace(module, torch.ones(2))


def test_steps_are_told_as_they_are_computed_and_equal_the_batch():
    told = []
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    trace = engine.trace(module, torch.ones(2), on_step=lambda step, records: told.append((step, records)))
    assert tuple(step for step, _ in told) == trace.steps
    seen = {record.name for _, records in told for record in records}
    assert {output for step in trace.steps for output in step.outputs} <= seen
