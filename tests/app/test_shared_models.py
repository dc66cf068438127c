"""The models in the catalogue are shared by all threads: nothing may change one, not even for a moment."""

from __future__ import annotations

import copy
import functools
import gc
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from app.lessons import catalogue as lessons
from app.page import source
from engine.models import catalogue

REMEMBERS = ("engine.experiments", "app.lessons", "app.page")


class Sealed(dict):
    """A module's parameters, which refuse to be put in or taken out, as functional_call and `setattr` do."""

    def __setitem__(self, name: str, value: Any) -> None:
        raise AssertionError(f"{name} of a shared model was replaced")

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copy.deepcopy(dict(self), memo)

    def __delitem__(self, name: str) -> None:
        raise AssertionError(f"{name} of a shared model was taken out")


def state(module: torch.nn.Module) -> dict[str, tuple]:
    return {name: (value._version, value.requires_grad, value.grad) for name, value in module.named_parameters()}


@pytest.fixture(scope="module", autouse=True)
def sealed() -> Iterator[None]:
    """Nothing computed before is remembered, and the models that are met are sealed when they are built."""
    for one in gc.get_objects():
        if type(one) is functools._lru_cache_wrapper and str(one.__module__).startswith(REMEMBERS):
            one.cache_clear()
    for model in catalogue().values():
        for part in model.module().modules():
            part._parameters = Sealed(part._parameters)
    yield
    for model in catalogue().values():
        for part in model.module().modules():
            part._parameters = dict(part._parameters)


@pytest.mark.parametrize("slug", list(lessons()))
def test_a_lesson_is_made_without_changing_a_shared_model(slug: str) -> None:
    before = {name: state(model.module()) for name, model in catalogue().items()}
    assert source.page("lesson", slug, "", "http://127.0.0.1")
    assert {name: state(model.module()) for name, model in catalogue().items()} == before
