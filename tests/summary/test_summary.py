"""Summaries: what event files hold, by a reader that is written here, and by TensorBoard's, where it is installed."""
from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

import runtime as rt
from runtime.core.record_files import masked_crc

summary = rt.summary


def fields(data):
    """The fields of a message: number, and an int or bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        else:
            size = varint()
            value, at = data[at:at + size], at + size
        found.append((key >> 3, value))
    return found


def records(path):
    data = path.read_bytes()
    while data:
        size, crc = struct.unpack("<QI", data[:12])
        assert crc == masked_crc(data[:8])
        body = data[12:12 + size]
        assert struct.unpack("<I", data[12 + size:16 + size])[0] == masked_crc(body)
        yield dict(fields(body))
        data = data[16 + size:]


def events(folder):
    """(tag, step, plugin, value) of each summary in the only file of the folder."""
    (path,) = folder.iterdir()
    first, *rest = records(path)
    assert first[3] == b"brain.Event:2"
    found = []
    for one in rest:
        value = dict(fields(dict(fields(one[5]))[1]))
        plugin = dict(fields(dict(fields(value[9]))[1]))[1].decode()
        parts = fields(value[8])
        tensor = dict(parts)
        shape = [dict(fields(dim)).get(1, 0) for _, dim in fields(tensor[2])]
        if tensor[1] == 7:
            data = [x for number, x in parts if number == 8]
        else:
            data = np.frombuffer(tensor[4], {1: "f4", 2: "f8"}[tensor[1]]).reshape(shape).tolist()
        found.append((value[1].decode(), one.get(2, 0), plugin, data))
    return found


def test_the_checksum():
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_scalars(tmp_path):
    writer = summary.create_file_writer(tmp_path, max_queue=2)
    with writer.as_default():
        assert summary.scalar("a", 1.5, step=3) is True and not list(tmp_path.iterdir())
        summary.scalar("a", rt.constant(2), step=rt.constant(4, rt.int64))
        assert len(events(tmp_path)) == 2  # two wait, so they are written
        summary.experimental.set_step(7)
        summary.scalar("b/c", np.float64(0.25))
        with pytest.raises(ValueError, match=r"test_summary.py:\d+: summary.scalar takes a scalar, not float32\[2\]"):
            summary.scalar("a", [1.0, 2.0])
        with pytest.raises(TypeError, match=r"the step of a summary is an int scalar, not float32\[\]"):
            summary.scalar("a", 1.0, step=0.5)
        summary.experimental.set_step(None)
        with pytest.raises(ValueError, match="the summary 'a' has no step: pass step="):
            summary.scalar("a", 1.0)
    assert events(tmp_path) == [
        ("a", 3, "scalars", 1.5), ("a", 4, "scalars", 2.0), ("b/c", 7, "scalars", 0.25)]
    assert summary.scalar("a", 1.0) is False  # no writer, no effect
    writer.close()
    with pytest.raises(RuntimeError, match="is closed"), writer.as_default(step=1):
        summary.scalar("a", 1.0)


def test_conditions(tmp_path):
    step = rt.Variable(0, dtype=rt.int64)
    with summary.create_file_writer(tmp_path).as_default(step=step):
        for k in range(5):
            step.assign(k)
            with summary.record_if(lambda: rt.equal(step % 2, 0)):
                summary.scalar("even", k)
                assert bool(summary.should_record_summaries()) == (k % 2 == 0)
        with summary.record_if(False):
            assert summary.scalar("never", 1.0) is False
    assert [(tag, when) for tag, when, _, _ in events(tmp_path)] == [("even", 0), ("even", 2), ("even", 4)]
    with summary.create_noop_writer().as_default(step=1):
        assert summary.scalar("x", 1.0) is True


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_in_traced_functions(tmp_path, executor):
    step = rt.Variable(0, dtype=rt.int64)

    @rt.function(executor=executor)
    def train(n):
        loss = rt.constant(8.0)
        for _ in rt.range(n):
            step.assign_add(1)
            loss = loss / 2
            with summary.record_if(rt.equal(step % 2, 0)):
                summary.scalar("loss", loss, step=step)
            if loss < 1:
                summary.scalar("small", loss, step=step)
        return loss

    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        assert train(rt.constant(4)) == 0.5
    assert events(tmp_path) == [
        ("loss", 2, "scalars", 2.0), ("loss", 4, "scalars", 0.5), ("small", 4, "scalars", 0.5)]


def test_histograms_images_and_text(tmp_path):
    images = np.zeros((5, 2, 3, 1), np.float32)
    images[0, 0, :, 0] = [0.0, 0.5, 2.0]
    with summary.create_file_writer(tmp_path).as_default(step=1):
        summary.histogram("h", rt.constant([0.0, 1.0, 1.0, 4.0]), buckets=2)
        summary.histogram("same", [3.0, 3.0], buckets=1)
        summary.histogram("none", rt.zeros([0]))
        summary.image("i", images, max_outputs=2)
        summary.text("t", ["# A", "b"])
        with pytest.raises(ValueError, match=r"\[k, height, width, channels\] of 1 to 4 channels, not float32\[2,3\]"):
            summary.image("i", rt.zeros([2, 3]))
        with pytest.raises(TypeError, match="a str, or a list of them"):
            summary.text("t", 3)
    h, same, none, image, text = events(tmp_path)
    assert h[3] == [[0.0, 2.0, 3.0], [2.0, 4.0, 1.0]] and same[3] == [[2.5, 3.5, 2.0]] and none[3] == []
    assert image[2] == "images" and image[3][:2] == [b"3", b"2"] and len(image[3]) == 4
    body = image[3][2]
    assert body.startswith(b"\x89PNG")
    at = body.index(b"IDAT")
    size = struct.unpack(">I", body[at - 4:at])[0]
    assert list(zlib.decompress(body[at + 4:at + 4 + size])) == [0, 0, 128, 255, 0, 0, 0, 0]
    assert text[3] == [b"# A", b"b"]


def test_tensorboard_reads_them(tmp_path):
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator",
                                  reason="TensorBoard is not installed")
    with summary.create_file_writer(tmp_path).as_default(step=5):
        summary.scalar("loss", 0.5, description="the loss")
        summary.histogram("h", [1.0, 2.0, 4.0])
        summary.image("i", np.full((1, 4, 4, 3), 200, np.uint8))
        summary.text("t", "hello")
    found = loading.EventAccumulator(str(tmp_path))
    found.Reload()
    assert sorted(found.Tags()["tensors"]) == ["h", "i", "loss", "t"]
    (scalar,) = found.Tensors("loss")
    assert scalar.step == 5 and scalar.tensor_proto.tensor_content == struct.pack("<f", 0.5)
    assert found.SummaryMetadata("loss").plugin_data.plugin_name == "scalars"
    assert found.SummaryMetadata("loss").summary_description == "the loss"
    assert found.Tensors("t")[0].tensor_proto.string_val == [b"hello"]
    assert found.Tensors("i")[0].tensor_proto.string_val[2].startswith(b"\x89PNG")
