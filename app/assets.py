"""Browser files out of node_modules: an allow-list, by package and version, and our own under /static.

/assets/PACKAGE@VERSION/FILE never changes and is cached for good; /assets/PACKAGE/FILE is checked by its ETag.
Only files found at start are served, so that no path of a request ever reaches the disk.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.errors import Problem

ROOT = Path(__file__).resolve().parent.parent
NODE_MODULES = ROOT / "node_modules"
STATIC = ROOT / "static"
IMMUTABLE = "public, max-age=31536000, immutable"
CHECKED = "public, no-cache"

# package -> what of it a page may ask for
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "@fontsource-variable/inter": ("files/*.woff2",),
    "@fontsource-variable/source-serif-4": ("files/*.woff2",),
    "@fontsource/ibm-plex-mono": ("files/*.woff2",),
    "@fontsource/noto-sans-math": ("files/*.woff2",),
    "idiomorph": ("dist/idiomorph.esm.js",),
    "plotly.js-cartesian-dist-min": ("plotly-cartesian.min.js",),
    "plotly.js-gl3d-dist-min": ("plotly-gl3d.min.js",),
    "swagger-ui-dist": ("swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"),
    "temml": ("dist/temml.mjs", "dist/Temml-NotoSans.css", "dist/Temml.woff2"),
}
_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".woff2": "font/woff2"}
_COMPRESSED_SUFFIXES = frozenset((".woff2", ".png"))

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Asset:
    """One file that may be served. `version` is its package's."""

    package: str
    version: str
    name: str
    path: Path

    @property
    def url(self) -> str:
        return f"/assets/{self.package}@{self.version}/{self.name}"

    @functools.cached_property
    def content(self) -> bytes:
        return self.path.read_bytes()

    @functools.cached_property
    def zipped(self) -> bytes | None:
        """None for what is compressed already."""
        return None if self.path.suffix in _COMPRESSED_SUFFIXES else gzip.compress(self.content, 6, mtime=0)

    @functools.cached_property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    @property
    def media_type(self) -> str:
        return _TYPES.get(self.path.suffix) or mimetypes.guess_type(self.path.name)[0] or "application/octet-stream"


@functools.cache
def assets() -> Mapping[str, Asset]:
    """Every asset by its path below /assets/, with and without the version."""
    found: dict[str, Asset] = {}
    for package, patterns in ALLOWED.items():
        folder = NODE_MODULES / package
        description = folder / "package.json"
        if not description.exists():
            continue
        version = json.loads(description.read_text(encoding="utf-8"))["version"]
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                asset = Asset(package, version, path.relative_to(folder).as_posix(), path)
                found[f"{package}/{asset.name}"] = asset
                found[f"{package}@{version}/{asset.name}"] = asset
    return found


def asset_url(name: str) -> str:
    """The address, with its version, of "package/file". Raises KeyError for what is not listed or not installed."""
    return assets()[name].url


@router.get("/assets/{name:path}")
def get_asset(name: str, request: Request) -> Response:
    """One file of the allow-list."""
    asset = assets().get(name)
    if asset is None:
        raise Problem(404, "no such asset")
    fixed = f"/assets/{name}" == asset.url
    headers = {"etag": asset.etag, "cache-control": IMMUTABLE if fixed else CHECKED, "vary": "accept-encoding"}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if asset.zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.zipped, 200, {**headers, "content-encoding": "gzip"}, asset.media_type)
    return Response(asset.content, 200, headers, asset.media_type)


class Static(StaticFiles):
    """Our own files: checked by ETag on every use, since their addresses carry no version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = CHECKED
        return response

    async def get_response(self, path: str, scope: Scope) -> Response:
        if "\x00" in path:
            raise Problem(404, "no such file")
        return await super().get_response(path, scope)
