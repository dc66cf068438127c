"""Rows of numbers as PNG files, read back by decoding them."""

from __future__ import annotations

import base64
import math
import struct
import zlib

import numpy as np
import pytest

from app.picture import NEGATIVE, POSITIVE, grid_of, picture, png
from engine.models import catalogue


def decoded(file: bytes) -> np.ndarray:
    """[row, column, red green blue strength] of a PNG without filters; every chunk's checksum must be right."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(file):
        (length,) = struct.unpack(">I", file[at : at + 4])
        kind, content = file[at + 4 : at + 8], file[at + 8 : at + 8 + length]
        assert struct.unpack(">I", file[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + content)
        chunks[kind], at = content, at + 12 + length
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 6, 0, 0, 0] and list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 4 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 4)


def test_each_number_is_a_pixel_coloured_by_its_sign_and_as_strong_as_it_is_large():
    pixels = decoded(png([2, -1, 0, 0.5, 1, -2], (2, 3)))
    assert pixels[..., 3].tolist() == [[255, 128, 0], [64, 128, 255]]
    assert tuple(pixels[0, 0, :3]) == POSITIVE and tuple(pixels[0, 1, :3]) == NEGATIVE
    assert tuple(pixels[0, 2]) == (0, 0, 0, 0)


def test_what_full_strength_means_can_be_said_and_larger_numbers_are_as_strong():
    assert decoded(png([1, 4, -8, 2], (2, 2), largest=4))[..., 3].tolist() == [[64, 255], [255, 128]]


def test_numbers_that_are_not_finite_and_rows_of_zeros_stay_clear():
    assert decoded(png([math.nan, math.inf, 1, 0], (2, 2)))[..., 3].tolist() == [[0, 0], [255, 0]]
    assert not decoded(png([0, 0, 0, 0], (2, 2))).any()


def test_a_picture_is_its_file_as_a_data_uri():
    head, _, content = picture([1, -1], (1, 2)).partition(",")
    assert head == "data:image/png;base64" and base64.b64decode(content) == png([1, -1], (1, 2))


def test_another_count_of_numbers_is_refused():
    with pytest.raises(ValueError, match=r"expected 2 x 2 numbers; got 3"):
        png([1, 2, 3], (2, 2))


def test_the_grid_of_a_tensor_is_that_of_its_last_axis_in_its_model():
    model = catalogue()["digit_network"]
    trace = model.trace({"backward": False})
    assert grid_of(trace, trace.record("x")) == (28, 28) == grid_of(trace, trace.record("hidden1.weight"))
    assert grid_of(trace, trace.record("prediction")) is None and grid_of(trace, trace.record("loss")) is None
