"""Images as files: what a writer of PNG in all its forms writes, is read."""
from __future__ import annotations

import importlib.util
import struct
import zlib
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.ops.image_files import _PASSES

DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
FORMS = [(color, depth, interlaced) for color, depths in DEPTHS.items() for depth in depths for interlaced in (0, 1)]


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def filtered(rows: list[bytes], step: int) -> bytes:
    """Rows with all filters, one after the other."""
    out, above = b"", bytes(len(rows[0]))
    for k, row in enumerate(rows):
        line = bytearray(row)
        for i in range(len(row)):
            a, b, c = (row[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
            guess = a + b - c
            near = min((abs(guess - a), 0, a), (abs(guess - b), 1, b), (abs(guess - c), 2, c))[2]
            line[i] = (row[i] - (0, a, b, (a + b) // 2, near)[k % 5]) & 255
        out += bytes([k % 5]) + bytes(line)
        above = row
    return out


def packed(image: Any, depth: int) -> list[bytes]:
    if depth >= 8:
        return [row.astype(f">u{depth // 8}").tobytes() for row in image]
    bits = (image.reshape(len(image), -1, 1) >> np.arange(depth)[::-1] & 1).reshape(len(image), -1)
    return [np.packbits(row).tobytes() for row in bits]


def png(image: Any, color: int, depth: int, interlaced: int, more: bytes = b"") -> bytes:
    step = max(image.shape[2] * depth // 8, 1)
    parts = [image[y::down, x::across] for y, x, down, across in _PASSES] if interlaced else [image]
    data = b"".join([filtered(packed(part, depth), step) for part in parts if part.size])
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], depth, color, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(data))
            + chunk(b"IEND", b""))


@pytest.mark.parametrize(("color", "depth", "interlaced"), FORMS)
def test_forms_of_png(color: int, depth: int, interlaced: int) -> None:
    rng = np.random.default_rng(color * 100 + depth)
    image = rng.integers(0, 1 << depth, (7, 9, CHANNELS[color]))
    palette = rng.integers(0, 256, (1 << depth, 3)).astype(np.uint8)
    data = png(image, color, depth, interlaced, chunk(b"PLTE", palette.tobytes()) if color == 3 else b"")
    wanted = image * 255 // ((1 << depth) - 1) if depth < 8 else image
    if color == 3:
        wanted = palette.astype(int)[image[..., 0]]
    narrow = wanted >> 8 if depth == 16 else wanted
    for decode in rt.io.decode_png, rt.function(rt.io.decode_png):
        found = decode(data)
        assert found.dtype is rt.uint8
        np.testing.assert_array_equal(found, narrow)
    np.testing.assert_array_equal(rt.io.decode_png(data, dtype=rt.uint16), wanted if depth == 16 else wanted * 257)
    colors = rt.image.decode_png(data, 3)
    assert colors.shape == [7, 9, 3]
    if color in (0, 4):
        np.testing.assert_array_equal(colors, np.repeat(narrow[..., :1], 3, -1))
    else:
        np.testing.assert_array_equal(colors, narrow[..., :3])
    assert rt.io.decode_png(data, 1).shape == [7, 9, 1] and rt.io.decode_png(data, 4).shape == [7, 9, 4]


def test_gray_and_alpha_are_those_of_tensorflow() -> None:
    image = np.array([[[1, 2, 3], [200, 100, 50], [255, 255, 255]]])
    assert rt.io.decode_png(png(image, 2, 8, 0), 1).numpy().ravel().tolist() == [1, 124, 255]
    assert rt.io.decode_png(png(image, 2, 8, 0), 4).numpy()[..., 3].tolist() == [[255, 255, 255]]
    clear = chunk(b"tRNS", np.array([200, 100, 50], ">u2").tobytes())
    assert rt.io.decode_png(png(image, 2, 8, 0, clear), 4).numpy()[..., 3].tolist() == [[255, 0, 255]]
    assert rt.io.decode_png(png(image, 2, 8, 0, clear)).shape == [1, 3, 3]
    colors = chunk(b"PLTE", bytes(range(6))) + chunk(b"tRNS", bytes([7]))
    assert rt.io.decode_png(png(np.array([[[0], [1]]]), 3, 1, 0, colors)).numpy().tolist() == [
        [[0, 1, 2, 7], [3, 4, 5, 255]]]


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_what_is_encoded_is_decoded(channels: int, dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (5, 6, channels)).astype(dtype)
    for encode in rt.io.encode_png, rt.function(rt.io.encode_png):
        np.testing.assert_array_equal(rt.io.decode_png(encode(x), dtype=dtype), x)


def test_images_of_any_format() -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, 6, 3)).astype(np.uint8)
    data = rt.io.encode_png(x)
    for decode in rt.io.decode_image, rt.image.decode_jpeg, rt.io.decode_bmp:
        np.testing.assert_array_equal(decode(data), x)
    np.testing.assert_allclose(rt.io.decode_image(data, dtype=rt.float32), x / 255, rtol=1e-6)
    resized = rt.function(lambda data: rt.image.resize(rt.io.decode_image(data, 3, expand_animations=False), [2, 2]))
    assert resized(data).shape == [2, 2, 3]
    assert not rt.io.is_jpeg(data) and rt.io.is_jpeg(b"\xff\xd8\xff\xe0")


def test_what_is_no_image() -> None:
    data = rt.io.encode_png(np.zeros([4, 4, 3], np.uint8)).numpy()
    for wrong in b"xx", data[:48], data.replace(b"IDAT", b"IDAX"):
        with pytest.raises(rt.errors.InvalidArgumentError, match="Invalid PNG data"):
            rt.io.decode_png(wrong)
    with pytest.raises(rt.errors.InvalidArgumentError, match="channels must be 0, 1, 3 or 4, got 2"):
        rt.io.decode_png(data, 2)
    with pytest.raises(rt.errors.InvalidArgumentError, match="the contents of one file"):
        rt.io.decode_image([data, data])
    with pytest.raises(rt.errors.InvalidArgumentError, match="1, 2, 3, or 4 channels, not 5"):
        rt.io.encode_png(np.zeros([4, 4, 5], np.uint8))
    with pytest.raises(rt.errors.UnimplementedError, match="ratio is 2"):
        rt.io.decode_jpeg(data, ratio=2)


def test_other_formats_need_pillow() -> None:
    if importlib.util.find_spec("PIL") is not None:
        x = np.full([8, 8, 3], 100, np.uint8)
        assert np.abs(rt.io.decode_jpeg(rt.io.encode_jpeg(x)).numpy().astype(int) - x).max() < 5
        with pytest.raises(rt.errors.InvalidArgumentError, match="Unknown image file format"):
            rt.io.decode_image(b"xx")
        return
    for use in (lambda: rt.io.decode_jpeg(b"\xff\xd8\xff"), lambda: rt.io.encode_jpeg(np.zeros([2, 2, 3], np.uint8))):
        with pytest.raises(rt.errors.UnimplementedError, match="Pillow, which is not installed"):
            use()
