"""The app: middleware, errors, and every module of this package that has a `router`.

A module may also have `error_page(request, problem) -> Response | None`, which answers browsers outside /api/, and
`warm_up()`, which makes once, before the app is ready, what the first request would wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import logging
import pkgutil
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

import app as package
from app import errors, openapi
from app.assets import STATIC, Static
from app.heavy_lane import HeavyLane
from app.jobs import Job, LightLane
from app.limits import BodyLimit, HeadAsGet, SecurityHeaders, TrustedHosts, UnexpectedErrors
from app.metrics import Counters, Metrics
from app.run_store import RunStore
from app.runs import Runs
from app.services import Services, recompute
from app.settings import Settings, from_environment
from app.store import LocalStore
from app.wire import API
from engine.data import tables
from engine.models import catalogue

UPLOAD_PATHS = (f"{API}/traces", "/open")
GZIP_LEAST_BYTES = 1024
logger = logging.getLogger("longhand")


def create_app(settings: Settings | None = None) -> FastAPI:
    """The whole service. settings: by default what the environment says. Raises ValueError for a bad setting."""
    settings = settings or from_environment()
    app = FastAPI(
        title=openapi.TITLE,
        version=openapi.VERSION,
        summary="Neural networks worked out in longhand.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        redirect_slashes=False,
    )
    app.state.services = _services(settings)
    app.state.ready = False
    app.state.error_page = None
    for module in modules():
        router = getattr(module, "router", None)
        if isinstance(router, APIRouter):
            app.include_router(router)
        app.state.error_page = getattr(module, "error_page", app.state.error_page)
    app.mount("/static", Static(directory=STATIC), name="static")
    errors.install(app)
    openapi.install(app)
    _add_middleware(app, settings)
    return app


def modules() -> Iterator[ModuleType]:
    """The modules of this package, in order of name; `__main__` and this one are left out."""
    for found in pkgutil.iter_modules(package.__path__, "app."):
        if found.name not in ("app.__main__", __name__):
            yield importlib.import_module(found.name)


def _services(settings: Settings) -> Services:
    lane = LightLane(threads=settings.light_threads, queue=settings.light_queue, limit_flops=settings.light_flops)
    store = LocalStore(
        Path(settings.data_dir),
        memory_bytes=settings.memory_bytes,
        disk_bytes=settings.disk_bytes,
        recompute=recompute,
    )
    tables.look_in(Path(settings.data_dir))
    runs = Runs(
        RunStore(settings.runs_url),
        HeavyLane(workers=settings.heavy_workers),
        Path(settings.data_dir),
        cpu_seconds=settings.heavy_cpu_seconds,
        memory_bytes=settings.heavy_memory_bytes,
        kept=settings.kept_runs,
    )
    return Services(settings, lane, store, Counters(), runs)


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """The last that is added sees a request first."""
    uploads = dict.fromkeys(UPLOAD_PATHS, settings.max_upload_bytes)
    app.add_middleware(BodyLimit, limit_bytes=settings.max_body_bytes, uploads=uploads)
    app.add_middleware(UnexpectedErrors)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_LEAST_BYTES, compresslevel=1)
    app.add_middleware(TrustedHosts, hosts=settings.hosts)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Metrics, counters=app.state.services.counters)
    app.add_middleware(HeadAsGet)


def _run_once(model: str, request: Mapping[str, Any], _: Job) -> None:
    recompute(model, request)


def _warm(warm_up: Callable[[], object], _: Job) -> None:
    warm_up()


def _warm_later(stopping: threading.Event) -> None:
    """What modules make in the background, outside the lane, so that it takes no request's place."""
    for module in modules():
        for make in getattr(module, "warm_up_later", list)():
            if stopping.is_set():
                return
            make()


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Ready once every model has run its default request and modules are warm; at the end jobs are stopped and requests
    written down."""
    services: Services = app.state.services
    for name, model in catalogue().items():
        await services.lane.run(functools.partial(_run_once, name, model.defaults))
    for module in modules():
        if warm_up := getattr(module, "warm_up", None):
            await services.lane.run(functools.partial(_warm, warm_up))
    await asyncio.to_thread(services.runs.recover)
    app.state.ready = True
    stopping = threading.Event()
    background = app.state.warming = threading.Thread(target=_warm_later, args=(stopping,))
    background.start()
    yield
    app.state.ready = False
    stopping.set()
    services.runs.close()
    services.lane.close()
    services.store.close()
    await asyncio.to_thread(background.join)  # a thread in the midst of a run would end the process by a crash
