"""Shapes in the engine's signatures are checked on every call while tests run."""

from __future__ import annotations

import jaxtyping
import pytest
import torch

from engine.models.digit_network import DigitNetwork


def test_a_tensor_of_another_type_than_the_signature_says_is_refused():
    with pytest.raises(jaxtyping.TypeCheckError, match=r"Float\[Tensor"):
        DigitNetwork()(torch.zeros(784, dtype=torch.int64))
