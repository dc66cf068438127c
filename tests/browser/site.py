"""A running site and a Chromium to see it with, as tests and measurements use them."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
START_SECONDS = 60
STOP_SECONDS = 10
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)


@contextlib.contextmanager
def running_site(folder: Path) -> Iterator[str]:
    """The address of a site in a process of its own (`python -m app`), such as `http://127.0.0.1:40123`.

    Its output and its files go to `folder`; it is stopped by SIGTERM. Raises RuntimeError, with what it printed, if it
    does not start or does not stop in time.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    log = folder / "output.txt"
    environment = os.environ | {"HOST": "127.0.0.1", "PORT": str(port), "LONGHAND_DATA_DIR": str(folder / "data")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app"], cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_ready(process, f"{address}/readyz", log)
        yield address
    finally:
        _stop(process, log)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError(f"the site was not ready at {url} (exit code {process.poll()}):\n{log.read_text()}")


def _stop(process: subprocess.Popen[bytes], log: Path) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise RuntimeError(f"the site had not stopped {STOP_SECONDS} s after SIGTERM:\n{log.read_text()}") from None


@contextlib.contextmanager
def running_chromium() -> Iterator[Browser]:
    """A headless Chromium: the program that CHROMIUM names, else the machine's. RuntimeError if there is none."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not path:
        raise RuntimeError("no Chromium found: run `make browser`, or name one with CHROMIUM=/path/to/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        yield browser
        browser.close()
