"""The models that can be traced, found by discovery: every module here that holds a MODEL."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping

from engine.models.model import Model


@functools.cache
def catalogue() -> Mapping[str, Model]:
    """Every model by its name, which is its module's name. Raises ValueError where the two differ."""
    found: dict[str, Model] = {}
    for module in pkgutil.iter_modules(__path__, "engine.models."):
        model = getattr(importlib.import_module(module.name), "MODEL", None)
        if model is not None:
            if model.name != module.name.rpartition(".")[2]:
                raise ValueError(f"MODEL of {module.name} must be named after its module; got {model.name!r}")
            found[model.name] = model
    return found
