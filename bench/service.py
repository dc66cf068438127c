"""What the whole app costs around the engine: a request in, JSON out, over a real connection to a server of its own."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import engine.models
from bench.row import Row
from bench.timing import median_ms, resting_site

TRACE = "/api/v1/models/tiny_network/trace"
REQUESTS = 400
CONNECTIONS = 4
WARM_UP = 30
VISITORS = 2


def measure() -> Iterator[Row]:
    """POST to JSON, requests a second, the first line of a stream, and pages while others train: the 2-3-1 network."""
    with resting_site() as address:
        host = address.removeprefix("http://")
        fresh = itertools.count()
        _times_ms(host, WARM_UP, fresh)
        model = engine.models.catalogue()["tiny_network"]
        (engine_ms,) = median_ms(lambda: model.trace(model.defaults), rounds=200)
        times_ms = _times_ms(host, REQUESTS, fresh)
        detail = f"engine alone {engine_ms:.3g} ms; 95 of 100 within {statistics.quantiles(times_ms, n=20)[-1]:.3g} ms"
        yield Row("2-3-1: POST to JSON, median", statistics.median(times_ms), "ms", at_most=3, detail=detail)
        rate = _requests_per_s(host, fresh)
        detail = f"one worker, {CONNECTIONS} connections"
        yield Row("2-3-1: new traces", rate, "requests/s", at_least=300, detail=detail)
        first_ms, last_ms = _stream_ms(host, fresh)
        yield Row("2-3-1: first line of a stream", first_ms, "ms", at_most=50, detail=f"last line {last_ms:.3g} ms")
        with _training(host, VISITORS):
            meanwhile_ms = _times_ms(host, REQUESTS, fresh)
        detail = f"without them {_slowest_ms(times_ms):.3g} ms; medians {statistics.median(meanwhile_ms):.3g} ms"
        detail += f" and {statistics.median(times_ms):.3g} ms"
        what = f"2-3-1: POST to JSON, 99 of 100, {VISITORS} runs training"
        yield Row(what, _slowest_ms(meanwhile_ms), "ms", at_most=50, detail=detail)


def _slowest_ms(times_ms: list[float]) -> float:
    """99 of 100 are within it."""
    return statistics.quantiles(times_ms, n=100)[-1]


def _body(number: int, **more: object) -> bytes:
    """A request that was not made before, so that no answer comes from the store."""
    return json.dumps({"inputs": {"x": [2.0 + number / 1024, -1.0]}, "target": 4.0, **more}).encode()


def _post(connection: http.client.HTTPConnection, body: bytes) -> http.client.HTTPResponse:
    connection.request("POST", TRACE, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"expected status 200; got {response.status}: {response.read()[:400]!r}")
    return response


def _times_ms(host: str, count: int, fresh: Iterator[int]) -> list[float]:
    """The time of each of `count` requests over one connection, one after the other."""
    connection = http.client.HTTPConnection(host)
    times_ms = []
    for number in itertools.islice(fresh, count):
        body = _body(number)
        start = time.perf_counter()
        _post(connection, body).read()
        times_ms.append((time.perf_counter() - start) * 1000)
    connection.close()
    return times_ms


def _requests_per_s(host: str, fresh: Iterator[int]) -> float:
    """How many requests a second are answered when every connection always has one open."""
    start = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        shares = [list(itertools.islice(fresh, REQUESTS)) for _ in range(CONNECTIONS)]
        done = sum(len(times) for times in pool.map(lambda share: _times_ms(host, len(share), iter(share)), shares))
    return done / (time.perf_counter() - start)


@contextlib.contextmanager
def _training(host: str, count: int) -> Iterator[None]:
    """`count` runs that train meanwhile, each watched. Raises RuntimeError if one has ended before the block has."""
    connections = [http.client.HTTPConnection(host) for _ in range(count)]
    body = json.dumps({"steps": 100_000, "update": {"learning_rate": 1e-6}, "background": True})
    links = []
    for connection in connections:
        connection.request("POST", TRACE.replace("/trace", "/train"), body, {"Content-Type": "application/json"})
        links.append(json.loads(connection.getresponse().read())["links"])
        connection.request("GET", links[-1]["progress"], headers={"Accept": "application/jsonl"})
    yield
    asking = http.client.HTTPConnection(host)
    for link in links:
        asking.request("POST", link["cancel"])
        if (status := asking.getresponse()).status != 200:
            raise RuntimeError(f"expected a run that trains; got {status.read()[:400]!r}")
        status.read()
    for connection in (asking, *connections):
        connection.close()


def _stream_ms(host: str, fresh: Iterator[int]) -> tuple[float, float]:
    """Median times until the first and until the last line of a streamed trace."""
    connection = http.client.HTTPConnection(host)
    firsts, lasts = [], []
    for number in itertools.islice(fresh, 50):
        start = time.perf_counter()
        response = _post(connection, _body(number, stream=True))
        response.readline()
        firsts.append((time.perf_counter() - start) * 1000)
        response.read()
        lasts.append((time.perf_counter() - start) * 1000)
    connection.close()
    return statistics.median(firsts), statistics.median(lasts)
