"""What can be taken away from a page of any run."""

from __future__ import annotations

import torch

import engine
from engine import tracefile


def test_an_opened_run_says_its_own_learning_rate_and_how_to_make_it_again(client):
    asked = {"update": {"rule": "sgd", "learning_rate": 0.7}}
    trace_id = client.post("/api/v1/models/tiny_network/trace", json=asked).json()["id"]
    content = client.get(f"/api/v1/traces/{trace_id}/file").content
    opened = client.post("/open", files={"file": ("run.safetensors", content)}, follow_redirects=False)
    data = client.get(opened.headers["location"] + ".json").json()
    assert (data["state"]["lr"], data["results"]["warning"]["rate"]) == (0.7, 0.7)
    assert '"learning_rate":0.7' in data["take"]["curl"] and "'learning_rate': 0.7" in data["take"]["python"]


def test_an_opened_run_of_another_model_is_fetched_not_made_again(client):
    file = tracefile.dump(engine.trace(torch.nn.Linear(2, 1), [torch.ones(2)]))
    opened = client.post("/open", files={"file": ("run.safetensors", file)}, follow_redirects=False)
    take = client.get(opened.headers["location"] + ".json").json()["take"]
    address = take["curl"].removeprefix("curl ")
    assert f'httpx.get("{address}")' in take["python"]
    assert client.get(address).json()["id"] == opened.headers["location"].removeprefix("/traces/")
