"""Fused operations written out in their parts, for "explain" mode.

Each function takes what the fused one takes and gives the same result within float32 rounding; run under a recorder,
its parts become steps. Sources: the equations in PyTorch's documentation of each function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from engine.tap import tap


class KeptWhole(Exception):
    """This call can't be opened; nothing of it was run."""


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,  # noqa: ARG001 the fused function takes it
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias, over the last `normalized_shape` dimensions."""
    dims = tuple(range(-len(normalized_shape), 0))
    centred = input - input.mean(dims, keepdim=True)
    scale = torch.rsqrt((centred * centred).mean(dims, keepdim=True) + eps)
    return _affine(centred * scale, weight, bias)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """x / sqrt(mean of x² + eps) * weight, over the last `normalized_shape` dimensions; eps None is the dtype's own."""
    dims = tuple(range(-len(normalized_shape), 0))
    floor = torch.finfo(input.dtype).eps if eps is None else eps
    return _affine(input * torch.rsqrt((input * input).mean(dims, keepdim=True) + floor), weight, None)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query keyᵀ · scale + mask) value. Axes [..., head, query or key, d_head].

    attn_mask: True where a query may look, or a float added to the scores. enable_gqa repeats key and value heads. A
    query that may look nowhere gets zeros, as the fused function gives.
    """
    if is_causal and attn_mask is not None:
        raise KeptWhole  # PyTorch's own function says what is wrong
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key = key.repeat_interleave(groups, -3)
        value = value.repeat_interleave(groups, -3)
    scores = (query @ key.transpose(-2, -1)) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    pattern = torch.softmax(scores, -1)
    if attn_mask is not None and not is_causal:
        nowhere = (scores == -math.inf).all(-1, keepdim=True)
        pattern = pattern.masked_fill(nowhere, 0.0) if nowhere.any() else pattern
    if dropout_p:
        pattern = F.dropout(pattern, dropout_p)
    return pattern @ value


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,  # noqa: ARG001 the fused function takes it
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,  # noqa: ARG001 a hint; the mask is given as well
) -> tuple[Tensor, Tensor | None]:
    """nn.MultiheadAttention's function. query, key, value: [time, batch, d_model] or [time, d_model].

    Raises KeptWhole for bias_k, bias_v, add_zero_attn and static keys.
    """
    if any(part is not None for part in (bias_k, bias_v, static_k, static_v)) or add_zero_attn:
        raise KeptWhole
    batched = query.dim() == 3
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3)  # type: ignore[union-attr]
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    heads = [
        _split(F.linear(part, weight, bias), num_heads)  # [batch, head, time, d_head]
        for part, weight, bias in zip((query, key, value), weights, biases, strict=True)
    ]
    mask = _mask(attn_mask, key_padding_mask, heads[0], num_heads)
    scores = (heads[0] @ heads[1].transpose(-2, -1)) * (1 / math.sqrt(heads[0].shape[-1]))
    scores = scores if mask is None else scores + mask
    pattern = tap("pattern", torch.softmax(scores, -1), "head query key")
    mixed = (F.dropout(pattern, dropout_p) if dropout_p and training else pattern) @ heads[2]
    time, batch = query.shape[0], query.shape[1]
    joined = mixed.permute(2, 0, 1, 3).reshape(time, batch, -1)
    out = F.linear(joined, out_proj_weight, out_proj_bias)
    shown = (pattern.mean(1) if average_attn_weights else pattern) if need_weights else None
    if not batched:
        return out.squeeze(1), None if shown is None else shown.squeeze(0)
    return out, shown


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _split(x: Tensor, heads: int) -> Tensor:
    time, batch, d_model = x.shape
    return x.reshape(time, batch, heads, d_model // heads).permute(1, 2, 0, 3)


def _mask(attn_mask: Tensor | None, key_padding: Tensor | None, query: Tensor, heads: int) -> Tensor | None:
    """Both masks as one float to add: [batch or 1, head or 1, query, key]; -inf where a key may not be seen."""
    total = None
    if attn_mask is not None:
        total = _added(attn_mask, query.dtype)
        total = total.reshape(-1, heads, *total.shape[-2:]) if total.dim() == 3 else total
    if key_padding is not None:
        padding = _added(key_padding, query.dtype)[:, None, None, :]
        total = padding if total is None else total + padding
    return total


def _added(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf) if mask.dtype == torch.bool else mask


OPENED: Mapping[str, Callable] = {
    function.__name__: function
    for function in (layer_norm, rms_norm, scaled_dot_product_attention, multi_head_attention_forward)
}
