"""A detector by hand: one unit whose 784 weights are painted, and which of a thousand images light it.

The text is templates/lessons/detector_by_hand.html; here are its numbers: of the run shown (`run`), of its weights on
many images (`many`, `biases`), and of paintings that the text names.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from app import whole
from app.lessons import Lesson, detector_by_hand_check
from app.lessons.attention_tables import first, view
from app.numbers import single, text
from app.picture import picture
from app.shown import shown, written
from engine.data import mnist
from engine.experiments.detector_by_hand import IMAGES, Answers, answers
from engine.models.detector_by_hand import AROUND, BIAS, COLUMNS, MIDDLE, RING, ROWS, painted
from engine.models.digit_images import image, place_of
from engine.models.digit_network import HIDDEN
from engine.trace import Trace

SLUG = "detector_by_hand"
GRID = (mnist.SIDE, mnist.SIDE)
BIASES = (0, -4, -7, -10, -13, -16)
SHOWN = 10
SOURCES = {"detector": "Sanderson 2017"}
PAINTINGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bar": ("the bar with its surround", {}),
    "bare": ("the bar alone", {"around": 0.0}),
    "upright": ("an upright bar with its surround", {"rows": (8, 21), "columns": (13, 16)}),
}

Data = dict[str, Any]


def prose(trace: Trace, baseline: Trace) -> Data:
    """The numbers of the text; with several examples those of the first."""
    lead = first(trace, "x")
    weight = [single(value) for value in trace["detector.weight"][0].tolist()]
    bias = single(float(trace["detector.bias"][0]))
    x = trace["x"][lead].tolist()
    many = answers(weight, bias)
    z = written(trace, "preactivation", (*lead, 0), baseline=baseline)
    return {
        "run": {
            "rows": trace["x"].shape[0] if lead else 1,
            "place": place_of(x),
            "sum": single(z["value"] - bias),
            "bias": bias,
            "needed": single(-bias),
            "z": z,
            "a": written(trace, "prediction", (*lead, 0), baseline=baseline),
            "lit": z["value"] > 0,
            "target": single(float(trace["target"].reshape(-1)[0])),
            "error": _error(trace, (*lead, 0)),
            "counts": {
                "positive": sum(one > 0 for one in weight),
                "negative": sum(one < 0 for one in weight),
                "total": single(sum(weight)),
            },
            "gradient": _gradient(trace, lead),
            "views": {
                "z": view(trace, "preactivation", (*lead, 0), view=None),
                "gradient": view(trace, "detector.weight.grad", view=None),
            },
        },
        "many": _many(many),
        "biases": [{"bias": float(one), "lit": answers(weight, one).count} for one in BIASES],
        "figure": _figure(many),
        **_named(),
    }


def _error(trace: Trace, index: tuple[int, ...]) -> float:
    return single(float(trace["prediction"][index]) - float(trace["target"].reshape(-1)[0]))


def _gradient(trace: Trace, lead: tuple[int, ...]) -> Data | None:
    """The gradient of the weights of a run with one example: its picture, and whether there is any."""
    if lead or "detector.weight.grad" not in trace.tensors:
        return None
    values = trace["detector.weight.grad"][0]
    return {"src": picture(values.numpy(), GRID), "zero": not bool(values.any())}


def _many(found: Answers) -> Data:
    order = found.strongest
    lit = [place for place in order if found.lit[place]]
    return {
        "images": IMAGES,
        "lit": len(lit),
        "digits": [{"digit": digit, "lit": lit, "of": of} for digit, (lit, of) in enumerate(found.by_digit)],
        "strongest": [_image(found, place) for place in lit[:SHOWN]],
        "missed": [_image(found, place) for place in order if not found.lit[place]][:SHOWN],
    }


def _image(found: Answers, place: int) -> Data:
    return {
        "place": place,
        "digit": found.digits[place],
        "sum": single(found.sums[place]),
        "src": _src(place),
    }


@functools.lru_cache(maxsize=IMAGES)
def _src(place: int) -> str:
    return picture(image(place), GRID)


def _figure(found: Answers) -> Data:
    """A bar a digit: how many images of it light the unit, over how many there are."""
    pairs = found.by_digit
    names = [str(digit) for digit in range(10)]
    bars = [
        {
            "type": "bar", "name": name, "x": names, "y": heights, "marker": {"color": colour},
            "text": [text(one) for one in heights], "textposition": "inside", "insidetextanchor": "end",
            "hovertemplate": f"digit %{{x}}, {name}: %{{y}}<extra></extra>",
        }
        for name, heights, colour in (
            ("lit", [lit for lit, _ in pairs], "var(--pos)"),
            ("not lit", [of - lit for lit, of in pairs], "var(--line)"),
        )
    ]  # fmt: skip
    ticks = [0, 50, 100]
    return {
        "data": bars,
        "layout": {
            "barmode": "stack", "showlegend": True, "dragmode": False, "height": 260,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 52, "r": 12, "t": 12, "b": 44},
            "xaxis": {"title": {"text": "digit"}, "fixedrange": True, "type": "category"},
            "yaxis": {
                "title": {"text": "images"}, "fixedrange": True, "zeroline": False, "range": [0, 130],
                "tickmode": "array", "tickvals": ticks, "ticktext": [text(one) for one in ticks],
            },
        },
    }  # fmt: skip


@functools.cache
def _named() -> Mapping[str, Any]:
    return {
        "sources": SOURCES,
        "painting": {
            "middle": MIDDLE, "around": AROUND, "ring": RING, "bias": BIAS,
            "height": ROWS[1] - ROWS[0], "width": COLUMNS[1] - COLUMNS[0],
            "above": int((painted() > 0).sum()), "below": int((painted() < 0).sum()),
        },
        "paintings": [_painting(name, **changes) for name, changes in PAINTINGS.values()],
        "block": _block(),
        "units": HIDDEN[0],
    }  # fmt: skip


def _painting(name: str, **changes: Any) -> Data:
    weight = painted(**changes).tolist()
    found = answers(weight, BIAS)
    run = shown(SLUG, set={"detector.weight": whole.code(weight)} if changes else {})
    most = max(range(10), key=lambda digit: found.by_digit[digit][0] / found.by_digit[digit][1])
    return {
        "name": name,
        "src": picture(weight, GRID, MIDDLE),
        "lit": found.count,
        "most": most,
        "of_most": single(100 * found.by_digit[most][0] / found.by_digit[most][1]),
        "link": run.link("preactivation"),
    }


def _block() -> Data:
    """An image that is all ink, seen with and without the surround."""
    ink = [1.0] * mnist.PIXELS
    cells = {"x": whole.code(ink)}
    run = shown(SLUG, set=cells)
    bare = shown(SLUG, set={**cells, "detector.weight": whole.code(painted(around=0.0).tolist())})
    return {
        "with": single(run.value("preactivation", (0,)) - BIAS),
        "without": single(bare.value("preactivation", (0,)) - BIAS),
        "link": run.link("preactivation"),
        "bare": bare.link("preactivation"),
    }


LESSON = Lesson(
    slug=SLUG,
    title="A detector by hand",
    part="Learning",
    order=24,
    summary="Paint the 784 weights of one unit, set its bias as a threshold, and see which of a thousand images light "
    "it.",
    model=SLUG,
    request={"update": {"rule": "sgd", "learning_rate": 0.01, "frozen": []}},
    examples=({"x": image(1), "target": 0}, {"x": image(17), "target": 1}),
    prose=prose,
    exercises=detector_by_hand_check.exercises,
)
