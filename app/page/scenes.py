"""Which pictures a run has, and the one that is shown."""

from __future__ import annotations

from app.page.run import Data, Run
from app.scene import catalogue
from engine.trace import Trace


def views(trace: Trace) -> list[str]:
    """The views of a run in order; the first is what an unfit view falls back to. What looks at a picture is not drawn
    as a network of pixels.
    """
    found = [name for name, picture in catalogue().items() if picture.fits(trace)]
    return [*(name for name in found if name != "network" or "image" not in found), "matrices"]


def view(run: Run) -> str:
    """The view that is shown."""
    possible = views(run.trace)
    return run.state.view if run.state.view in possible else possible[0]


def legend(run: Run) -> list[str]:
    """What the picture's legend explains beside signs and marks: only what this run has."""
    records = run.trace.tensors.values()
    backward = any(step.phase == "backward" for step in run.trace.steps)
    written = [one for held in run.recorded.data["tensors"].values() for one in held.get("nonfinite", ())]
    found = {
        "hatch": any(step.note == "intervention" for step in run.trace.steps),
        "frozen": any(operand.role == "frozen" for step in run.trace.steps for operand in step.inputs),
        "none": backward and any(one.kind == "activation" and one.gradient is None for one in records),
        "nan": any(one["value"] == "NaN" for one in written),
        "inf": any(one["value"] != "NaN" for one in written),
    }
    return [name for name, there in found.items() if there]


def scene(run: Run) -> Data | None:
    """The picture as data; None where matrices are shown."""
    picture = catalogue().get(view(run))
    return None if picture is None else picture.of(run)
