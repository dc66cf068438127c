"""Pictures of a run as plain data: what is drawn where, and every number that is drawn.

    network.py    a dense network: units as nodes, weights as edges        network_layout.py   where they stand
    graph.py      any run's operations, with tensors on the edges          graph_layout.py     layers, order, places
    curves.py     the edges' curves        placing.py   labels that sit on their edge and on nothing else
    readings.py   values, gradients, baseline values                       layers.py   a run read as dense layers
    cells.py      what is said of one cell                                 selection.py   the selected cell
    flow.py       a transformer's tensors, panel by panel                  memory.py      an MLP, a neuron a row
    strength.py   how strongly a cell is tinted
    image.py      a network that looks at a picture: units in columns, the strongest edges

A picture is a module here with ORDER, fits(trace) and of(run); its template is templates/scene/<name>.html.

No HTML here: templates/scene/ draws the data as SVG. Lengths are in the picture's own units (1 is a CSS pixel at the
picture's natural width).
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType


@functools.cache
def catalogue() -> Mapping[str, ModuleType]:
    """Every picture by name, in the order in which a page offers those that fit."""
    modules = [importlib.import_module(found.name) for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    pictures = sorted((module for module in modules if hasattr(module, "ORDER")), key=lambda module: module.ORDER)
    return {module.__name__.rpartition(".")[2]: module for module in pictures}
