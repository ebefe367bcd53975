"""Images as files: PNG is decoded and encoded here, other formats by Pillow, if it is installed (`tf.io`, `tf.image`).

Of PNG all colour types, depths and both interlacings; the colours are as TensorFlow gives them.
"""
from __future__ import annotations

import importlib.util
import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from autograph.backend import deferred
from runtime.core.errors import InvalidArgumentError, UnimplementedError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, as_dtype, bool_, string, uint8, uint16
from runtime.ops.host_functions import numpy_function
from runtime.ops.image import convert_image_dtype
from runtime.ops.op_makers import check_dtype, named

__all__ = ["decode_bmp", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png", "is_jpeg"]

pillow = deferred("PIL.Image")

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHANNELS: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type
_PASSES: Final = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
"""Of Adam7: the first row and column of each pass, and the steps."""
_GRAY: Final = 9797, 19234, 3737
"""The weights of red, green and blue, of 32768, as TensorFlow has them."""


def _wrong(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"Invalid PNG data: {what}")


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_SIGNATURE)
    while place + 8 <= len(data):
        size, = struct.unpack(">I", data[place:place + 4])
        yield data[place + 4:place + 8], data[place + 8:place + 8 + size]
        place += size + 12


def _row(kind: int, line: bytearray, above: bytes, step: int) -> bytearray:
    """A row of bytes whose filter is undone; `step`: the bytes of a pixel."""
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        return bytearray((np.frombuffer(line, np.uint8) + np.frombuffer(above, np.uint8)).tobytes())
    elif kind == 3:
        for i in range(len(line)):
            left = line[i - step] if i >= step else 0
            line[i] = (line[i] + (left + above[i] >> 1)) & 255
    elif kind == 4:
        for i in range(len(line)):
            left, corner = (line[i - step], above[i - step]) if i >= step else (0, 0)
            up = above[i]
            a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            line[i] = (line[i] + (left if a <= b and a <= c else up if b <= c else corner)) & 255
    elif kind:
        raise _wrong(f"there is no filter {kind}")
    return line


def _pixels(data: memoryview, height: int, width: int, channels: int, depth: int) -> tuple[Any, int]:
    """The numbers of an image without interlacing, [height, width, channels], and how many bytes it takes."""
    if not height or not width:
        return np.zeros([height, width, channels], np.uint16), 0
    size, step = (width * channels * depth + 7) // 8, max(channels * depth // 8, 1)
    rows: list[bytes] = [bytes(size)]
    if len(data) < height * (size + 1):
        raise _wrong("it ends early")
    for k in range(height):
        start = k * (size + 1)
        rows.append(bytes(_row(data[start], bytearray(data[start + 1:start + 1 + size]), rows[-1], step)))
    plain = np.frombuffer(b"".join(rows[1:]), np.uint8).reshape(height, size)
    numbers: Any
    if depth == 16:
        numbers = plain.view(">u2").astype(np.uint16)
    elif depth == 8:
        numbers = plain
    else:
        places = np.arange(8 // depth)[::-1] * depth
        numbers = (plain[:, :, None] >> places & (1 << depth) - 1).reshape(height, -1)[:, :width * channels]
    return numbers.reshape(height, width, channels), height * (size + 1)


def _png(data: bytes, channels: int, bits: int) -> Any:
    """[height, width, channels], uint8 or uint16; 0 channels: those of the file."""
    if not data.startswith(_SIGNATURE):
        raise _wrong("it begins otherwise")
    chunks = [*_chunks(data)]
    try:
        width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", dict(chunks)[b"IHDR"])
        own = _CHANNELS[color]
        raw = memoryview(zlib.decompress(b"".join([part for name, part in chunks if name == b"IDAT"])))
    except (KeyError, struct.error, zlib.error) as error:
        raise _wrong(str(error)) from None
    if not interlaced:
        image, _ = _pixels(raw, height, width, own, depth)
    else:
        image, place = np.zeros([height, width, own], np.uint16), 0
        for y, x, down, across in _PASSES:
            part = image[y::down, x::across]
            found, size = _pixels(raw[place:], part.shape[0], part.shape[1], own, depth)
            part[...] = found
            place += size
    image, alpha = _colors(image.astype(np.uint16), depth, color, dict(chunks))
    return _converted(image, alpha, depth, color, channels, bits)


def _colors(image: Any, depth: int, color: int, chunks: dict[bytes, bytes]) -> tuple[Any, Any]:
    """The colours of an image, of 8 or 16 bits, and its alpha channel, or None."""
    clear = chunks.get(b"tRNS")
    if color == 3:
        palette = np.frombuffer(chunks.get(b"PLTE", b""), np.uint8).reshape(-1, 3).astype(np.uint16)
        if image.size and image.max() >= len(palette):
            raise _wrong("it has a colour beyond its palette")
        alpha = None
        if clear is not None:
            table = np.full(256, 255, np.uint16)
            table[:len(clear)] = np.frombuffer(clear, np.uint8)
            alpha = table[image]
        return palette[image[..., 0]], alpha
    most = (1 << depth) - 1
    alpha = None
    if color in (4, 6):
        image, alpha = image[..., :-1], image[..., -1:]
    elif clear is not None:
        key = np.frombuffer(clear, ">u2")
        alpha = np.where((image == key).all(-1, keepdims=True), 0, max(most, 255)).astype(np.uint16)
    return (image * (255 // most) if depth < 8 else image), alpha


def _converted(image: Any, alpha: Any, depth: int, color: int, channels: int, bits: int) -> Any:
    """The image with so many channels of so many bits; `depth` is that of the file. An alpha channel that is added to
    an image of less than 8 bits is the greatest number of these bits, as in TensorFlow."""
    channels = channels or image.shape[-1] + (alpha is not None and color > 2)
    if alpha is None and channels % 2 == 0:
        alpha = np.full_like(image[..., :1], (1 << depth) - 1)
    if channels > 2 and image.shape[-1] == 1:
        image = np.repeat(image, 3, -1)
    elif channels < 3 and image.shape[-1] == 3:
        image = (image.astype(np.uint32) @ np.array(_GRAY, np.uint32) + (16384 if depth == 16 else 0) >> 15)
        image = image.astype(np.uint16)[..., None]
    if channels % 2 == 0:
        image = np.concatenate([image, alpha], -1)
    if bits < depth:
        image = image >> 8
    return (image * (257 if bits > depth else 1)).astype(np.uint16 if bits == 16 else np.uint8)


def _by_pillow(data: bytes, channels: int) -> Any:
    if importlib.util.find_spec("PIL") is None:
        raise UnimplementedError("images other than PNG are decoded by Pillow, which is not installed",
                                 remedy="Install it: pip install pillow; or make PNG files of the images.")
    try:
        image = pillow.open(io.BytesIO(data))
        own = len(image.convert("RGB" if image.mode == "P" else image.mode).getbands())
    except OSError as error:  # of which Pillow's own errors are subclasses
        raise InvalidArgumentError(f"Unknown image file format: {error}") from None
    mode = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels or own]
    return np.asarray(image.convert(mode)).reshape(image.height, image.width, -1)


def _decoded(contents: Any, channels: Any, dtype: Any, name: str | None, kind: str) -> Tensor:
    data, count = convert_to_tensor(contents, string), int(channels or 0)
    if data.type.shape:
        raise located(InvalidArgumentError(f"{kind} takes the contents of one file, a string scalar, not {data.type}"))
    if count not in (0, 1, 3, 4):
        raise located(InvalidArgumentError(f"channels must be 0, 1, 3 or 4, got {count}"))
    want = as_dtype(dtype)
    bits = 16 if want is uint16 else 8
    drawn = uint16 if bits == 16 else uint8

    def decode(data: bytes) -> Any:
        if kind == "decode_png" or data.startswith(_SIGNATURE):
            return _png(data, count, bits)
        found = _by_pillow(data, count)
        return found.astype(np.uint16) * 257 if bits == 16 else found

    decode.__name__ = kind
    image: Tensor = numpy_function(decode, [data], TensorSpec((None, None, count or None), drawn))
    return named(image if want is drawn else convert_image_dtype(image, want), name)


def decode_png(contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None) -> Tensor:
    """The image in the contents of a PNG file, a string scalar: uint8 or uint16 [height, width, channels]
    (`tf.io.decode_png`). channels: 0, those of the file, 1 (gray), 3 (colours) or 4. InvalidArgumentError for other
    contents."""
    check_dtype("decode_png", as_dtype(dtype), (uint8, uint16))
    return _decoded(contents, channels, dtype, name, "decode_png")


def decode_image(contents: Any, channels: int | None = None, dtype: Any = uint8, name: str | None = None,
                 expand_animations: bool = True) -> Tensor:
    """The image in the contents of a file, a string scalar: [height, width, channels] (`tf.io.decode_image`); of an
    animation the first image. A `dtype` other than uint8 scales as `convert_image_dtype`. UnimplementedError without
    Pillow for formats other than PNG, InvalidArgumentError for what is no image."""
    return _decoded(contents, channels, dtype, name, "decode_image")


def decode_jpeg(contents: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
                try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "",
                name: str | None = None) -> Tensor:
    """The image in the contents of a JPEG or PNG file: uint8 [height, width, channels] (`tf.io.decode_jpeg`). Pillow
    decodes JPEG, whose numbers may differ by some units from TensorFlow's."""
    if ratio != 1:
        raise located(UnimplementedError(f"decode_jpeg reduces no image, ratio is {ratio}", remedy="Resize the image."))
    return _decoded(contents, channels, uint8, name, "decode_jpeg")


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The image in the contents of a BMP file: uint8 [height, width, channels] (`tf.io.decode_bmp`), by Pillow."""
    return _decoded(contents, channels, uint8, name, "decode_bmp")


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether the contents of a file, a string scalar, begin as JPEG: bool[] (`tf.io.is_jpeg`)."""
    found: Tensor = numpy_function(lambda data: np.bool_(data.startswith(b"\xff\xd8\xff")),
                                   [convert_to_tensor(contents, string)], TensorSpec((), bool_))
    return named(found, name)


# Encoding.

def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _encoded(image: Any, level: int) -> bytes:
    height, width, channels = image.shape
    color = {count: kind for kind, count in _CHANNELS.items() if kind != 3}.get(channels)
    if color is None:
        raise InvalidArgumentError(f"image must have 1, 2, 3, or 4 channels, not {channels}")
    rows = image.astype(image.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8)
    lines = np.concatenate([np.zeros([height, 1], np.uint8), rows], 1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8 * image.itemsize, color, 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines, level)) + _chunk(b"IEND", b"")


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """An image, uint8 or uint16 [height, width, channels], as the contents of a PNG file, a string scalar
    (`tf.io.encode_png`)."""
    x = convert_to_tensor(image)
    check_dtype("encode_png", x.dtype, (uint8, uint16))
    found: Tensor = numpy_function(lambda x: _encoded(np.asarray(x), compression), [x], TensorSpec((), string))
    return named(found, name)


def encode_jpeg(image: Any, format: str = "", quality: int = 95, name: str | None = None) -> Tensor:
    """An image, uint8 [height, width, 1 or 3], as the contents of a JPEG file, a string scalar (`tf.io.encode_jpeg`),
    by Pillow: UnimplementedError without it."""
    x = convert_to_tensor(image)
    check_dtype("encode_jpeg", x.dtype, (uint8,))

    def encode(x: Any) -> bytes:
        if importlib.util.find_spec("PIL") is None:
            raise UnimplementedError("JPEG is encoded by Pillow, which is not installed",
                                     remedy="Install it: pip install pillow; or use encode_png.")
        file = io.BytesIO()
        pillow.fromarray(np.squeeze(x, -1) if x.shape[-1] == 1 else x).save(file, "JPEG", quality=quality)
        return file.getvalue()

    found: Tensor = numpy_function(encode, [x], TensorSpec((), string))
    return named(found, name)
