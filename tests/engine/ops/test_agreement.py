"""Every row, in every form PyTorch offers it, against PyTorch's own outputs and autograd's gradients, in float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from engine.ops.table import rows
from tests.engine.ops.one_step import assert_explains, one_step, values

UNARY: dict[str, Callable] = {
    "-x": lambda x: -x,
    "torch.neg": torch.neg,
    "x ** 2": lambda x: x**2,
    "x ** 3": lambda x: x**3,
    "x ** 1": lambda x: x**1,
    "x ** 0": lambda x: x**0,
    "2 ** x": lambda x: 2**x,
    "torch.pow(2, x)": lambda x: torch.pow(2, x),
    "x.pow(3)": lambda x: x.pow(3),
    "x.square": lambda x: x.square(),
    "abs": lambda x: abs(x),
    "x + 2": lambda x: x + 2,
    "2 + x": lambda x: 2 + x,
    "2 - x": lambda x: 2 - x,
    "x - 2": lambda x: x - 2,
    "x.sub(2, alpha=3)": lambda x: x.sub(2, alpha=3),
    "torch.rsub(x, 2, alpha=3)": lambda x: torch.rsub(x, 2, alpha=3),
    "x * 2": lambda x: x * 2,
    "2 * x": lambda x: 2 * x,
    "x / 4": lambda x: x / 4,
    "4 / x": lambda x: 4 / x,
    "x.reciprocal": lambda x: x.reciprocal(),
    "x.div(floor)": lambda x: x.div(0.3, rounding_mode="floor"),
    "x.div(trunc)": lambda x: x.div(0.3, rounding_mode="trunc"),
    "x.true_divide": lambda x: x.true_divide(3),
    "F.relu": F.relu,
    "x.relu": lambda x: x.relu(),
    "nn.ReLU": torch.nn.ReLU(),
    "F.leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "leaky_relu default": F.leaky_relu,
    "F.gelu": F.gelu,
    "F.gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "nn.GELU": torch.nn.GELU(),
    "F.silu": F.silu,
    "nn.SiLU": torch.nn.SiLU(),
    "torch.sigmoid": torch.sigmoid,
    "x.sigmoid": lambda x: x.sigmoid(),
    "torch.tanh": torch.tanh,
    "F.tanh": F.tanh,
    "exp": torch.exp,
    "sin": torch.sin,
    "cos": torch.cos,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp min": lambda x: x.clamp(min=-0.2),
    "clamp max": lambda x: torch.clamp(x, max=0.2),
    "clamp None max": lambda x: torch.clamp(x, None, 0.2),
    "clip": lambda x: x.clip(-1, 0),
    "clamp_min": lambda x: x.clamp_min(0),
    "clamp_max": lambda x: x.clamp_max(0),
    "clamp crossed": lambda x: x.clamp(0.5, -0.5),
    "sum": lambda x: x.sum(),
    "torch.sum": torch.sum,
    "mean": lambda x: x.mean(),
    "max": lambda x: x.max(),
    "min": lambda x: torch.min(x),
    "amax": lambda x: x.amax(),
    "amin": lambda x: torch.amin(x),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "alias": torch.ops.aten.alias,
    "flatten": lambda x: x.flatten(),
    "reshape(-1)": lambda x: x.reshape(-1),
    "view(-1)": lambda x: x.view(-1),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "x[None]": lambda x: x[None],
    "x[...]": lambda x: x[...],
    "squeeze": lambda x: x.squeeze(),
}

AXES: dict[str, Callable] = {
    "F.softmax": lambda x, dim: F.softmax(x, dim=dim),
    "x.softmax": lambda x, dim: x.softmax(dim),
    "torch.softmax": lambda x, dim: torch.softmax(x, dim),
    "nn.Softmax": lambda x, dim: torch.nn.Softmax(dim=dim)(x),
    "F.log_softmax": lambda x, dim: F.log_softmax(x, dim=dim),
    "x.log_softmax": lambda x, dim: x.log_softmax(dim),
    "logsumexp": lambda x, dim: torch.logsumexp(x, dim),
    "logsumexp keepdim": lambda x, dim: x.logsumexp(dim, keepdim=True),
    "sum": lambda x, dim: x.sum(dim),
    "sum keepdim": lambda x, dim: torch.sum(x, dim=dim, keepdim=True),
    "sum axis": lambda x, dim: x.sum(axis=dim),
    "mean": lambda x, dim: x.mean(dim),
    "mean tuple": lambda x, dim: x.mean((dim,), keepdim=True),
    "var": lambda x, dim: x.var(dim),
    "var biased": lambda x, dim: x.var(dim, unbiased=False, keepdim=True),
    "var correction": lambda x, dim: torch.var(x, dim, correction=0),
    "max": lambda x, dim: x.max(dim),
    "max keyword": lambda x, dim: torch.max(x, dim=dim, keepdim=True),
    "min": lambda x, dim: x.min(dim, True),
    "amax": lambda x, dim: x.amax(dim),
    "amin": lambda x, dim: x.amin(dim=dim, keepdim=True),
    "unsqueeze": lambda x, dim: x.unsqueeze(dim),
    "squeeze": lambda x, dim: x.squeeze(dim),
    "flip": lambda x, dim: x.flip(dim),
    "select": lambda x, dim: x.select(dim, 1),
    "narrow": lambda x, dim: x.narrow(dim, 1, 1),
    "unbind": lambda x, dim: x.unbind(dim),
    "chunk": lambda x, dim: x.chunk(2, dim),
    "split": lambda x, dim: torch.split(x, 1, dim),
    "x.split": lambda x, dim: x.split(1, dim=dim),
}

PAIRS: dict[str, Callable] = {
    "x + y": lambda x, y: x + y,
    "torch.add alpha": lambda x, y: torch.add(x, y, alpha=2),
    "x - y": lambda x, y: x - y,
    "subtract alpha": lambda x, y: torch.subtract(x, y, alpha=3),
    "torch.rsub": lambda x, y: torch.rsub(x, y, alpha=2),
    "x * y": lambda x, y: x * y,
    "torch.multiply": torch.multiply,
    "x / y": lambda x, y: x / y,
    "torch.divide floor": lambda x, y: torch.divide(x, y, rounding_mode="floor"),
    "torch.maximum": torch.maximum,
    "torch.max(x, y)": torch.max,
    "x.minimum": lambda x, y: x.minimum(y),
    "torch.min(x, y)": torch.min,
    "clamp min tensor": lambda x, y: torch.clamp(x, min=y),
    "clamp max tensor": lambda x, y: torch.clamp(x, max=y),
}

FORMS: dict[str, Callable] = {
    "reshape": lambda: (lambda x: x.reshape(3, 4), values(2, 6)),
    "reshape tuple": lambda: (lambda x: x.reshape((3, 4)), values(2, 6)),
    "torch.reshape keyword": lambda: (lambda x: torch.reshape(x, shape=(4, 3)), values(2, 6)),
    "view": lambda: (lambda x: x.view(2, 3, 2), values(2, 6)),
    "flatten from 1": lambda: (lambda x: torch.flatten(x, 1), values(2, 3, 2)),
    "unflatten": lambda: (lambda x: x.unflatten(1, (3, 2)), values(2, 6)),
    "transpose": lambda: (lambda x: x.transpose(0, -1), values(2, 3, 4)),
    "swapaxes": lambda: (lambda x: x.swapaxes(axis0=0, axis1=1), values(2, 3)),
    "permute": lambda: (lambda x: x.permute(2, 0, 1), values(2, 3, 4)),
    "torch.permute": lambda: (lambda x: torch.permute(x, (1, 0)), values(2, 3)),
    "permute keyword": lambda: (lambda x: torch.permute(x, dims=(1, 0)), values(2, 3)),
    "movedim": lambda: (lambda x: x.movedim(0, 2), values(2, 3, 4)),
    "T": lambda: (lambda x: x.T, values(2, 3)),
    "mT": lambda: (lambda x: x.mT, values(2, 3, 4)),
    "t": lambda: (lambda x: x.t(), values(2, 3)),
    "expand": lambda: (lambda x: x.expand(4, -1, 3), values(2, 1)),
    "expand tuple": lambda: (lambda x: x.expand((4, 2)), values(2)),
    "expand_as": lambda: (lambda x, y: x.expand_as(y), values(1, 3), values(2, 3)),
    "view_as": lambda: (lambda x, y: x.view_as(y), values(2, 3), values(2, 3, gradient=False)),
    "repeat": lambda: (lambda x: x.repeat(2, 3), values(2, 2)),
    "cat": lambda: (lambda x, y: torch.cat([x, y]), values(2, 3), values(1, 3)),
    "concat dim": lambda: (lambda x, y: torch.concat((x, y), dim=-1), values(2, 3), values(2, 1)),
    "cat of one tensor twice": lambda: (lambda x: torch.cat([x, x]), values(2)),
    "stack": lambda: (lambda x, y: torch.stack([x, y], 1), values(2, 3), values(2, 3)),
    "split sizes": lambda: (lambda x: torch.split(x, [1, 3], 1), values(2, 4)),
    "x[0]": lambda: (lambda x: x[0], values(2, 3)),
    "x[-1, 1:]": lambda: (lambda x: x[-1, 1:], values(2, 3)),
    "x[:, ::2]": lambda: (lambda x: x[:, ::2], values(2, 5)),
    "x[..., None, 0]": lambda: (lambda x: x[..., None, 0], values(2, 3)),
    "x[indices]": lambda: (lambda x, i: x[i], values(3, 2), torch.tensor([2, 0, 2])),
    "x[:, indices]": lambda: (lambda x, i: x[:, i], values(2, 3), torch.tensor([[2, 0], [1, 1]])),
    "x[i, j]": lambda: (lambda x, i, j: x[i, j], values(3, 3), torch.tensor([2, 2]), torch.tensor([0, 0])),
    "x[list]": lambda: (lambda x: x[[1, 0, 1]], values(3, 2)),
    "x[mask]": lambda: (lambda x, m: x[m], values(2, 2), torch.tensor([[True, False], [False, True]])),
    "x * x": lambda: (lambda x: x * x, values(3)),
    "index_select": lambda: (lambda x, i: x.index_select(1, i), values(2, 3), torch.tensor([2, 0, 2])),
    "gather": lambda: (lambda x, i: torch.gather(x, 1, i), values(2, 3), torch.tensor([[2, 2], [0, 1]])),
    "tril": lambda: (lambda x: x.tril(), values(3, 4)),
    "triu": lambda: (lambda x: torch.triu(x, diagonal=1), values(3, 4)),
    "F.embedding": lambda: (F.embedding, torch.tensor([[2, 0, 2], [1, 1, 3]]), values(4, 3)),
    "embedding padding": lambda: (
        lambda i, w: F.embedding(i, w, padding_idx=-4),
        torch.tensor([2, 0, 0]),
        values(4, 3),
    ),
    "torch.where": lambda: (torch.where, torch.rand(2, 3) > 0.5, values(2, 3), values(3)),
    "torch.where number": lambda: (lambda c, x: torch.where(c, x, 0.0), torch.rand(2, 3) > 0.5, values(2, 3)),
    "x.where": lambda: (lambda x, c, y: x.where(c, y), values(2, 3), torch.rand(2, 3) > 0.5, values(2, 3)),
    "masked_fill": lambda: (lambda x, m: x.masked_fill(m, -2.5), values(2, 3), torch.rand(3) > 0.5),
    "masked_fill -inf": lambda: (lambda x, m: x.masked_fill(m, -torch.inf), values(2, 3), torch.rand(2, 3) > 0.5),
    "masked_fill scalar tensor": lambda: (
        lambda x, m, v: x.masked_fill(m, v),
        values(2, 3),
        torch.rand(2, 3) > 0.5,
        values(),
    ),
    "sum of dims": lambda: (lambda x: x.sum((0, 2)), values(2, 3, 4)),
    "mean of dims": lambda: (lambda x: x.mean(dim=[0, 1], keepdim=True), values(2, 3, 4)),
    "amax of dims": lambda: (lambda x: torch.amax(x, dim=(0, 2)), values(2, 3, 4)),
    "logsumexp of dims": lambda: (lambda x: torch.logsumexp(x, (0, 1)), values(2, 3)),
    "var of all": lambda: (lambda x: x.var(), values(5)),
    "var flag": lambda: (lambda x: x.var(False), values(5)),
    "log": lambda: (torch.log, (values(4).abs() + 0.1).detach().requires_grad_()),
    "sqrt": lambda: (torch.sqrt, (values(4).abs() + 0.1).detach().requires_grad_()),
    "rsqrt": lambda: (torch.rsqrt, (values(4).abs() + 0.1).detach().requires_grad_()),
    "tensor ** tensor": lambda: (lambda x, y: x**y, (values(4).abs() + 0.1).detach().requires_grad_(), values(4)),
    "x.__rpow__": lambda: (lambda x, y: x.__rpow__(y), values(3), torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64)),
    "clamp by tensors": lambda: (torch.clamp, values(3, 4), values(4), values(3, 4)),
    "sum of integers": lambda: (lambda x: x.sum(), torch.tensor([1, 2, 3])),
    "float32 product": lambda: (lambda x: x * 0.5, torch.tensor([1.5, -2.25], requires_grad=True)),
}


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("form", UNARY)
def test_form_of_one_tensor_agrees_with_autograd(form: str, shape: tuple[int, ...]) -> None:
    assert_explains(one_step(UNARY[form], values(*shape)))


@pytest.mark.parametrize(("shape", "dim"), [((3,), 0), ((2, 3), 1), ((3, 2), -2), ((2, 3, 2), 1)], ids=str)
@pytest.mark.parametrize("form", AXES)
def test_form_along_an_axis_agrees_with_autograd(form: str, shape: tuple[int, ...], dim: int) -> None:
    step = one_step(lambda x: AXES[form](x, dim), values(*shape))
    for position in range(len(step.outputs) if step.op.all_outputs else 1):
        assert_explains(step, position=position)


@pytest.mark.parametrize(
    ("left", "right"), [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((3,), (2, 3)), ((2, 3), ())], ids=str
)
@pytest.mark.parametrize("form", PAIRS)
def test_form_of_two_tensors_agrees_with_autograd_under_broadcasting(
    form: str, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    assert_explains(one_step(PAIRS[form], values(*left), values(*right)))


@pytest.mark.parametrize("form", FORMS)
def test_form_agrees_with_autograd(form: str) -> None:
    call, *tensors = FORMS[form]()
    step = one_step(call, *tensors)
    for position in range(len(step.outputs) if step.op.all_outputs else 1):
        assert_explains(step, position=position)


@given(
    data=st.data(),
    form=st.sampled_from(["sigmoid", "tanh", "gelu", "silu", "relu", "square", "sin", "cos"]),
)
def test_activation_agrees_with_autograd_anywhere(data: st.DataObject, form: str) -> None:
    numbers = data.draw(st.lists(st.floats(-60, 60), min_size=1, max_size=6))
    call = {**vars(torch), "gelu": F.gelu, "silu": F.silu}[form]
    assert_explains(one_step(call, torch.tensor(numbers, dtype=torch.float64, requires_grad=True)))


GRADIENT_CHECKED = {
    "linear": lambda: {"input": values(2, 3), "weight": values(2, 3), "bias": values(2)},
    "addmm": lambda: {"input": values(2), "mat1": values(3, 2), "mat2": values(2, 2)},
    "matmul": lambda: {"input": values(2, 2, 3), "other": values(3, 2)},
    "mse_loss": lambda: {"input": values(4), "target": values(4)},
    "div": lambda: {"input": values(3), "other": (values(3).detach().abs() + 0.5).requires_grad_()},
    **{
        name: lambda: {"input": values(2, 3)}
        for name in ("sigmoid", "tanh", "gelu", "silu", "exp", "sin", "cos", "square", "sum", "mean", "var")
    },
    **{name: lambda: {"input": values(2, 3), "other": values(3)} for name in ("add", "sub", "mul")},
    **{name: lambda: {"input": (values(3).detach().abs() + 0.5).requires_grad_()} for name in ("log", "sqrt", "rsqrt")},
}


@pytest.mark.parametrize("name", GRADIENT_CHECKED)
def test_run_passes_gradcheck(name: str) -> None:
    operands = GRADIENT_CHECKED[name]()
    run = rows()[name].run
    assert torch.autograd.gradcheck(lambda *given: run(**dict(zip(operands, given, strict=True))), [*operands.values()])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_run_along_an_axis_passes_gradcheck(name: str) -> None:
    assert torch.autograd.gradcheck(lambda x: rows()[name].run(input=x, dim=1), [values(2, 3)])
