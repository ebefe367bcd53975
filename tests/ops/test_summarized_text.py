"""The text of tensors (`rt.strings.format`) is TF's."""
import pytest

import runtime as rt

WAYS = {"eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}
FORMATS = [
    (lambda x: rt.strings.format("{}", "a"), b'"a"'),
    (lambda x: rt.strings.format("x {} y", [rt.constant(["a", "b"])]), b'x ["a" "b"] y'),
    (lambda x: rt.strings.format("x {} {}", (x, 1.5), summarize=2), b"x [0 1 ... 8 9] 1.5"),
    (lambda x: rt.strings.format("x % %", ([[1, 2], [3, 4]], True), placeholder="%"), b"x [[1 2]\n [3 4]] 1"),
    (lambda x: rt.strings.format("no", ()), b"no"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fn, text", FORMATS)
def test_format(fn, text, way):
    assert WAYS[way](fn)(rt.range(10)).numpy() == text


def test_format_needs_as_many_tensors_as_placeholders():
    with pytest.raises(ValueError, match="The template expects 1 tensors, but the inputs only has 2"):
        rt.strings.format("x {}", (1, 2))
