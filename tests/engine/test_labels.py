"""How symbols are written as LaTeX."""

from __future__ import annotations

import pytest

from engine.labels import tex_symbol


@pytest.mark.parametrize(
    ("symbol", "tex"),
    [
        ("z", "z"),
        ("ŷ", r"\hat{y}"),
        ("W′", "W'"),
        ("W_Q", "W_{Q}"),
        ("W_down", r"W_{\mathrm{down}}"),
        ("W_Q′", "W_{Q}'"),
        ("Kᵀ", r"{K}^{\top}"),
        ("Kᵀ*", r"{{K}^{\top}}^{*}"),
        ("ℓ²", "{ℓ^2}"),
        ("W²′", "{W^2}'"),
        ("x̂¹", r"{\hat{x}^1}"),
        ("m(W_Q)", "m(W_{Q})"),
        ("∂L/∂W_Q", r"\frac{\partial L}{\partial W_{Q}}"),
        ("logits", r"\mathrm{logits}"),
        ("a_b_c", r"\mathrm{a\_b\_c}"),
        ("_", "_"),
        ("", r"\mathrm{}"),
    ],
)
def test_symbols_as_latex(symbol, tex):
    assert tex_symbol(symbol) == tex
