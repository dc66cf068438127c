"""Pictures of a run as plain data: what is drawn where, and every number that is drawn.

    network.py    a dense network: units as nodes, weights as edges        network_layout.py   where they stand
    graph.py      any run's operations, with tensors on the edges          graph_layout.py     layers, order, places
    curves.py     the edges' curves        placing.py   labels that sit on their edge and on nothing else
    readings.py   values, gradients, baseline values                       layers.py   a run read as dense layers
    cells.py      what is said of one cell                                 selection.py   the selected cell

No HTML here: templates/scene/ draws the data as SVG. Lengths are in the picture's own units (1 is a CSS pixel at the
picture's natural width).
"""
