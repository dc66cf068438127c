"""Longhand's engine: runs PyTorch models and accounts for every number in the run."""

from engine.compare import Change, Comparison, compare
from engine.errors import InputError, RunError
from engine.explain import Explanation, explain
from engine.intervene import Intervention
from engine.manifest import manifest
from engine.paths import Paths, paths
from engine.run import trace
from engine.skeleton import Edit
from engine.tap import tap
from engine.trace import Trace
from engine.tracefile import dump, load, save
from engine.update import Frozen, Update
from engine.verify import Verification, verify

__all__ = [
    "Change",
    "Comparison",
    "Edit",
    "Explanation",
    "Frozen",
    "InputError",
    "Intervention",
    "Paths",
    "RunError",
    "Trace",
    "Update",
    "Verification",
    "compare",
    "dump",
    "explain",
    "load",
    "manifest",
    "paths",
    "save",
    "tap",
    "trace",
    "verify",
]
