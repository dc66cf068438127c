"""Which pictures a run has, and the one that is shown."""

from __future__ import annotations

from app.page.run import Data, Run
from app.scene import graph, network
from engine.trace import Trace


def views(trace: Trace) -> list[str]:
    """The views of a run in order; the first is what an unfit view falls back to."""
    drawn = [name for name, fits in (("network", network.fits(trace)), ("graph", graph.fits(trace))) if fits]
    return [*drawn, "matrices"]


def view(run: Run) -> str:
    """The view that is shown."""
    possible = views(run.trace)
    return run.state.view if run.state.view in possible else possible[0]


def scene(run: Run) -> Data | None:
    """The picture as data; None where matrices are shown."""
    name = view(run)
    if name == "network":
        return network.draw(run.trace, run.recorded.baseline, run.state.step, run.state.cell, example=run.state.example)
    if name == "graph":
        return graph.draw(run.trace, run.recorded.baseline, run.state.step, run.state.cell)
    return None
