"""The fields of what a reader may choose beside the run."""

from __future__ import annotations

from app.page.forms import field_id
from app.page.run import Data
from app.state import State


def settings(state: State) -> list[Data]:
    """{name, id, title, value (text), chosen, default, changed, choices, error} each; choices are {value, label}, else
    None.
    """
    errors = {one.field: one.message for one in state.errors}
    return [
        {
            "name": name,
            "id": field_id(name),
            "title": one.title,
            "value": state.raw.get(name, one.said(state.chosen[name]))[:200],
            "chosen": state.chosen[name],
            "default": one.default,
            "changed": name in state.settings,
            "choices": [{"value": value, "label": label} for value, label in one.choices.items()]
            if one.choices
            else None,
            "error": errors.get(name),
        }
        for name, one in state.space.settings.items()
    ]
