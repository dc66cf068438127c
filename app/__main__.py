"""Serves the site on HOST and PORT: `python -m app`.

SIGTERM and SIGINT end open streams with an `error` line, then the server stops.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import logging
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from app.main import create_app
from app.settings import from_environment

GRACE_SECONDS = 2
# A page is tens of thousands of small objects, nearly none of them garbage: looking for cycles every 700 (Python's
# default) took tens of milliseconds now and then.
COLLECT_EVERY = 5_000


class Server(uvicorn.Server):
    """Tells the lane to stop as soon as a signal comes: uvicorn itself would wait for streams to end."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self.app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.app.state.ready = False
        services = self.app.state.services
        services.runs.stop("the server is stopping")
        services.lane.stop("the server is stopping")
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list | None = None) -> None:
        await super().startup(sockets)
        self.app.state.services.runs.lane.warm_up()
        gc.collect()
        gc.freeze()
        gc.set_threshold(COLLECT_EVERY, 10, 10)
        for server in self.servers:
            for listener in server.sockets:
                host, port = listener.getsockname()[:2]
                print(f"Longhand: http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)


def main() -> None:
    """Exits with a message where a setting is not valid."""
    try:
        settings = from_environment()
    except ValueError as error:
        sys.exit(str(error))
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level=settings.log_level,
        access_log=settings.log_level == "debug",
        timeout_graceful_shutdown=GRACE_SECONDS,
        server_header=False,
    )
    Server(config, app).run()


if __name__ == "__main__":
    main()
