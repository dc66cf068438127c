"""Traces by id, tensors in every encoding, slices, and files that go out and come back in."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from app.traces import read_slice

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TRACE = "/api/v1/models/tiny_network/trace"
WEIGHT = [[1, -1], [0.5, 1], [-1, 2]]


@pytest.fixture(scope="module")
def trace(client: TestClient) -> dict[str, Any]:
    return client.post(TRACE, json={}).json()


def test_a_trace_comes_back_by_its_id_and_is_kept_for_good(client: TestClient, trace: dict[str, Any]) -> None:
    response = client.get(trace["links"]["self"])
    assert response.json() == trace
    assert "immutable" in response.headers["cache-control"]
    again = client.get(trace["links"]["self"], headers={"if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(trace["links"]["self"], headers={"if-none-match": '"other"'}).status_code == 200


def test_an_unknown_id_is_404_even_with_a_matching_tag(client: TestClient) -> None:
    response = client.get("/api/v1/traces/nothing", headers={"if-none-match": '"nothing"'})
    assert response.status_code == 404
    assert "post its request" in response.json()["detail"]


def tensor(client: TestClient, trace: dict[str, Any], name: str, **query: Any) -> Any:
    response = client.get(f"{trace['links']['self']}/tensors/{name}", params=query)
    assert response.status_code == 200, response.text
    return response


def test_a_tensor_in_json(client: TestClient, trace: dict[str, Any]) -> None:
    data = tensor(client, trace, "hidden.weight").json()
    assert data == {"name": "hidden.weight", "dtype": "float32", "shape": [3, 2], "data": WEIGHT}


@pytest.mark.parametrize("name", ["hidden.weight.grad", "prediction.grad@6", "loss", "hidden.weight.grad@9"])
def test_names_with_dots_and_signs_find_their_tensor(client: TestClient, trace: dict[str, Any], name: str) -> None:
    assert tensor(client, trace, name).json()["data"] == trace["tensors"][name]["data"]


def test_a_name_with_a_colon_finds_its_tensor(client: TestClient) -> None:
    edited = [{"at": "hidden.activation", "index": [1], "set": 0}]
    trace = client.post(TRACE, json={"interventions": edited}).json()
    assert tensor(client, trace, "hidden.activation:computed").json()["data"] == [3, 1, 0]
    assert tensor(client, trace, "hidden.activation").json()["data"] == [3, 0, 0]


def test_a_slice_and_digits(client: TestClient, trace: dict[str, Any]) -> None:
    assert tensor(client, trace, "hidden.weight", slice="1:,0").json()["data"] == [0.5, -1]
    assert tensor(client, trace, "hidden.weight", slice="2").json()["data"] == [-1, 2]
    assert tensor(client, trace, "hidden.weight", slice="2,1").json()["data"] == 2
    third = client.post(TRACE, json={"inputs": {"x": [1 / 3, 0]}}).json()
    assert tensor(client, third, "x", digits=2).json()["data"] == [0.33, 0]


def test_base64_raw_and_npy_hold_the_same_bits(client: TestClient, trace: dict[str, Any]) -> None:
    data = tensor(client, trace, "hidden.weight", enc="b64").json()
    assert (data["dtype"], data["shape"]) == ("f4", [3, 2])
    packed = np.frombuffer(base64.b64decode(data["bdata"]), "<f4").reshape(3, 2)
    raw = tensor(client, trace, "hidden.weight", enc="raw")
    assert (raw.headers["x-dtype"], raw.headers["x-shape"]) == ("f4", "3,2")
    npy = np.load(io.BytesIO(tensor(client, trace, "hidden.weight", enc="npy").content), allow_pickle=False)
    for array in (packed, np.frombuffer(raw.content, "<f4").reshape(3, 2), npy):
        assert array.tolist() == WEIGHT
    transposed = tensor(client, trace, "hidden.weight", enc="npy", slice=":,1")
    assert np.load(io.BytesIO(transposed.content)).tolist() == [-1, 1, 2]


def test_each_encoding_has_its_own_tag(client: TestClient, trace: dict[str, Any]) -> None:
    tags = {tensor(client, trace, "x", enc=enc).headers["etag"] for enc in ("json", "b64", "raw", "npy")}
    assert len(tags) == 4
    for tag in tags:
        assert tag.isascii()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3", "slice[0] must be from 0 to 2; got 3"),
        ("-1", "slice[0] must be an index or start:stop, counted from 0; got '-1'"),
        ("0,0,0", "slice must have at most 2 parts for shape [3, 2]; got 3"),
        ("0:4", "slice[0] must lie in 0:3; got '0:4'"),
        (":,::0", "slice[1] must have a step of at least 1; got '::0'"),
        ("a", "slice[0] must be an index or start:stop, counted from 0; got 'a'"),
        ("9" * 30, "slice[0] must be an index or start:stop"),
    ],
)
def test_a_bad_slice_says_expected_and_got(client: TestClient, trace: dict[str, Any], text: str, message: str) -> None:
    response = client.get(f"{trace['links']['self']}/tensors/hidden.weight", params={"slice": text})
    assert response.status_code == 422
    assert response.json()["detail"].startswith(message)


def test_a_slice_reads_as_numpy_reads_it() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    assert array[read_slice("1,:2,1:4:2", array.shape)].tolist() == array[1, :2, 1:4:2].tolist()
    assert read_slice("", (2, 3)) == ()


def test_an_unknown_tensor_is_404_and_names_some(client: TestClient, trace: dict[str, Any]) -> None:
    response = client.get(f"{trace['links']['self']}/tensors/hidden.wait")
    assert response.status_code == 404
    assert "hidden.weight" in response.json()["detail"]


def test_the_file_is_read_by_any_safetensors_reader(client: TestClient, trace: dict[str, Any]) -> None:
    response = client.get(trace["links"]["file"])
    tensors = load_safetensors(response.content)
    assert tensors["hidden.weight"].tolist() == WEIGHT
    assert set(tensors) == set(trace["tensors"])
    assert f"{trace['id']}.safetensors" in response.headers["content-disposition"]
    tag = {"if-none-match": response.headers["etag"]}
    assert client.get(trace["links"]["file"], headers=tag).status_code == 304


OCTETS = {"content-type": "application/octet-stream"}


def test_a_file_that_comes_back_is_opened_under_an_id_of_its_own(client: TestClient, trace: dict[str, Any]) -> None:
    content = client.get(trace["links"]["file"]).content
    response = client.post("/api/v1/traces", content=content, headers=OCTETS)
    assert response.status_code == 201
    opened = response.json()
    assert opened["id"].startswith("file-")
    assert response.headers["location"] == f"/api/v1/traces/{opened['id']}"
    assert opened["tensors"] == trace["tensors"]
    assert opened["steps"] == trace["steps"]
    assert opened["result"] == trace["result"]
    assert client.get(opened["links"]["file"]).content == content
    explained = client.post(opened["links"]["explain"], json={"tensor": "prediction", "index": [0]})
    assert explained.json()["expression"]["value"] == 5.5


def test_a_form_with_one_file_is_opened_too(client: TestClient, trace: dict[str, Any]) -> None:
    content = client.get(trace["links"]["file"]).content
    form = {"file": ("trace.safetensors", content, "application/octet-stream")}
    response = client.post("/api/v1/traces", files=form)
    assert response.status_code == 201
    assert response.json()["tensors"] == trace["tensors"]
    other = client.post("/api/v1/traces", files={"other": ("a", content)})
    assert (other.status_code, other.json()["errors"][0]["field"]) == (422, "file")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: b"hello, this is text", "file must be a safetensors file; got 19 bytes of something else"),
        (lambda file: b"", "file must be a trace file; got 0 bytes"),
        (lambda file: file[:100], r"file must be whole: \d+ bytes for its header alone; got 100 bytes"),
        (lambda file: file[:-4], r"file must be whole: (\d+) bytes, as its header says; got \d+ bytes"),
        (lambda file: file + b"x", r"file must be whole: (\d+) bytes, as its header says; got \d+ bytes"),
        (
            lambda file: save_safetensors({"a": np.zeros(3, np.float32)}),
            r"file must be a trace \(longhand.trace/1 in its metadata\); got a safetensors file without",
        ),
    ],
    ids=["text", "nothing", "cut in the header", "cut in the values", "longer", "another file"],
)
def test_a_refused_file_says_what_was_expected_and_what_came(
    client: TestClient, trace: dict[str, Any], change: Callable[[bytes], bytes], message: str
) -> None:
    content = change(client.get(trace["links"]["file"]).content)
    response = client.post("/api/v1/traces", content=content, headers={"content-type": "application/octet-stream"})
    assert response.status_code == 422
    assert re.fullmatch(message, response.json()["detail"])


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 100, (2**60).to_bytes(8, "little") + b"{}"])
def test_what_is_no_trace_file_is_refused(client: TestClient, content: bytes) -> None:
    response = client.post("/api/v1/traces", content=content, headers=OCTETS)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"


def test_a_trace_file_whose_manifest_was_tampered_with_never_breaks_the_server(
    client: TestClient, trace: dict[str, Any]
) -> None:
    content = client.get(trace["links"]["file"]).content
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    manifest = json.loads(header["__metadata__"]["longhand"])
    for damage in (
        {"steps": None},
        {"steps": [{}]},
        {"tensors": manifest["tensors"][:3]},
        {"tensors": [{**manifest["tensors"][0], "axes": "x"}]},
        {"model": 7},
        {"result": []},
        {"request": "none"},
        {"id": {"a": 1}},
        {"schema": "other/9"},
    ):
        header["__metadata__"]["longhand"] = json.dumps({**manifest, **damage})
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        file = len(text).to_bytes(8, "little") + text + content[8 + length :]
        response = client.post("/api/v1/traces", content=file, headers=OCTETS)
        assert response.status_code in (201, 422), (damage, response.text)


def test_another_media_type_is_refused(client: TestClient) -> None:
    response = client.post("/api/v1/traces", content=b"{}", headers={"content-type": "text/plain"})
    assert response.status_code == 415
