"""What every lesson's page keeps to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.app.markup import data_numbers, exact_values, parse

if TYPE_CHECKING:
    from starlette.testclient import TestClient

LEAST_NUMBERS = 10


def strays(client: TestClient, slug: str, query: str) -> set[float]:
    """The numbers on a lesson's page that its JSON does not have (a sign may differ: "a − b" is written for a + −b)."""
    path = f"/lessons/{slug}"
    page = client.get(f"{path}?{query}", headers={"accept": "text/html"})
    assert page.status_code == 200
    values, _ = data_numbers(client.get(f"{path}.json?{query}").json())
    found = exact_values(parse(page.text).one("main"))
    assert len(found) > LEAST_NUMBERS
    return found - values - {-value for value in values}
