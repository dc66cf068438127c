"""What the environment sets. Every variable here is a row of the README's settings table; a test compares them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

ALWAYS_ALLOWED_HOSTS = ("localhost", "127.0.0.1", "[::1]", "testserver")


def _variable(name: str, default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"variable": name, "meaning": meaning})


@dataclass(frozen=True)
class Settings:
    """Sizes are bytes, limits are counts. Raises ValueError for a value that is below its least or not a choice."""

    host: str = _variable("HOST", "127.0.0.1", "address to listen on")
    port: int = _variable("PORT", 8000, "port to listen on; 0 takes a free one")
    allowed_hosts: tuple[str, ...] = _variable(
        "LONGHAND_ALLOWED_HOSTS", (), "further Host names answered, with commas; * answers all"
    )
    data_dir: str = _variable("LONGHAND_DATA_DIR", "var", "folder for trace files and kept requests")
    max_body_bytes: int = _variable("LONGHAND_MAX_BODY_BYTES", 2**20, "largest request body")
    max_upload_bytes: int = _variable("LONGHAND_MAX_UPLOAD_BYTES", 2**26, "largest uploaded trace file")
    light_threads: int = _variable(
        "LONGHAND_LIGHT_THREADS", 2, "threads for streams and long runs, beside one for short runs"
    )
    light_queue: int = _variable("LONGHAND_LIGHT_QUEUE", 64, "jobs that may wait for a thread; beyond that 503")
    light_flops: int = _variable(
        "LONGHAND_LIGHT_FLOPS", 10**9, "largest estimate of one job, in floating-point operations"
    )
    heavy_workers: int = _variable("LONGHAND_HEAVY_WORKERS", 2, "processes that train, one run each; beyond that 503")
    heavy_flops: int = _variable(
        "LONGHAND_HEAVY_FLOPS", 10**13, "largest estimate of one training run, in floating-point operations"
    )
    heavy_cpu_seconds: int = _variable(
        "LONGHAND_HEAVY_CPU_SECONDS", 600, "CPU time of one training run, from its start or resumption"
    )
    heavy_memory_bytes: int = _variable("LONGHAND_HEAVY_MEMORY_BYTES", 2**31, "memory of one process that trains")
    database_url: str = _variable(
        "LONGHAND_DATABASE_URL", "", "SQLAlchemy URL of the training runs; empty is SQLite in the data folder"
    )
    kept_runs: int = _variable("LONGHAND_KEPT_RUNS", 200, "training runs kept; the oldest go first")
    memory_bytes: int = _variable("LONGHAND_MEMORY_BYTES", 2**27, "traces kept in memory")
    disk_bytes: int = _variable("LONGHAND_DISK_BYTES", 2**30, "files kept in the data folder; the oldest go first")
    log_level: str = _variable("LONGHAND_LOG_LEVEL", "info", "critical, error, warning, info or debug")

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{variable(name)} must be at least {least}; got {getattr(self, name)}")
        if self.port > 65535:
            raise ValueError(f"PORT must be at most 65535; got {self.port}")
        if self.log_level not in _LOG_LEVELS:
            raise ValueError(f"LONGHAND_LOG_LEVEL must be one of {', '.join(_LOG_LEVELS)}; got {self.log_level!r}")

    @property
    def runs_url(self) -> str:
        """The database of the training runs."""
        return self.database_url or f"sqlite:///{Path(self.data_dir).resolve() / 'runs.sqlite'}"

    @property
    def hosts(self) -> frozenset[str]:
        """Every Host name that is answered, in lower case, without a port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset(name.lower() for name in (*ALWAYS_ALLOWED_HOSTS, host, *self.allowed_hosts))


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings with what the environment sets; an empty one counts as unset. Raises ValueError as Settings does."""
    given = {}
    for entry in fields(Settings):
        text = environment.get(entry.metadata["variable"], "").strip()
        if text:
            given[entry.name] = _read(entry.metadata["variable"], text, entry.default)
    return Settings(**given)


def table() -> list[tuple[str, str, str]]:
    """(variable, default, meaning) of every setting, in order: the rows of the README's table."""
    return [
        (entry.metadata["variable"], _written(entry.default), entry.metadata["meaning"]) for entry in fields(Settings)
    ]


def variable(name: str) -> str:
    """The environment variable of a field."""
    return next(entry.metadata["variable"] for entry in fields(Settings) if entry.name == name)


_LEAST = {
    "port": 0,
    "max_body_bytes": 1024,
    "max_upload_bytes": 1024,
    "light_threads": 1,
    "light_queue": 0,
    "light_flops": 1,
    "heavy_workers": 1,
    "heavy_flops": 1,
    "heavy_cpu_seconds": 1,
    "heavy_memory_bytes": 2**29,
    "kept_runs": 0,
    "memory_bytes": 0,
    "disk_bytes": 0,
}
_LOG_LEVELS = ("critical", "error", "warning", "info", "debug")


def _read(name: str, text: str, default: Any) -> Any:
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"{name} must be a whole number; got {text!r}") from None
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def _written(default: Any) -> str:
    return ",".join(default) if isinstance(default, tuple) else str(default)
