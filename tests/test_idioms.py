"""Programs as users of TensorFlow 2 write them, and what went wrong in them once: each line held a bug."""
from __future__ import annotations

import linecache
import math

import numpy as np
import pytest

import autograph as ag
import runtime as tf

# --- Algorithms ---------------------------------------------------------------------------------------------


@tf.function
def edit_distance(a, b):
    previous = tf.range(len(b) + 1)
    for i in tf.range(len(a)):
        current = tf.TensorArray(tf.int32, size=len(b) + 1, clear_after_read=False)
        current = current.write(0, i + 1)
        for j in tf.range(len(b)):
            cost = tf.where(a[i] == b[j], 0, 1)
            best = tf.reduce_min([current.read(j) + 1, previous[j + 1] + 1, previous[j] + cost])
            current = current.write(j + 1, best)
        previous = current.stack()
    return previous[-1]


def test_edit_distance():
    assert edit_distance(tf.constant(list(b"kitten")), tf.constant(list(b"sitting"))) == 3


def quicksort(x):
    stack = [(0, len(x) - 1)]
    while stack:
        low, high = stack.pop()
        if low < high:
            pivot = x[high]
            i = low
            for j in range(low, high):
                if x[j] < pivot:
                    x[i], x[j] = x[j], x[i]
                    i += 1
            x[i], x[high] = x[high], x[i]
            stack.append((low, i - 1))
            stack.append((i + 1, high))
    return x


def test_quicksort_with_a_staged_stack_of_tuples():
    values = [5, 2, 4, 6, 1, 3]
    assert tf.function(quicksort)(tf.constant(values)).numpy().tolist() == quicksort(list(values))


def insertion_sort(x):
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


@pytest.mark.parametrize("values", [[5, 2, 9, 1], [1], []])
def test_a_signature_takes_lists_of_any_length(values):
    f = tf.function(insertion_sort, input_signature=[tf.TensorSpec([None], tf.int32)])
    assert f(values).numpy().tolist() == sorted(values)


def cumulated(x):
    h, w = x.shape
    for i in range(h):
        for j in range(w):
            x[i, j] += x[i, j - 1] if j > 0 else 0
        x[i, :] *= 2
    for i in range(1, h):
        x[i] += x[i - 1]
        x[:i, max(i - 2, 0):i + 1] -= 1
    x[-1, ...] //= 3
    return x


@pytest.mark.parametrize("executor", ["numpy", None])
def test_items_change_by_several_indices_and_slices(executor):
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    expected = cumulated(x.copy())
    for f in cumulated, ag.convert(cumulated), tf.function(cumulated, executor=executor):
        given = x.copy() if f is cumulated else tf.constant(x)
        np.testing.assert_array_equal(f(given), expected)


def eliminated(a, b, n):
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    return a, b


@pytest.mark.parametrize("executor", ["numpy", None])
def test_gaussian_elimination(executor):
    a, b = np.array([[4.0, 2, 1], [2, 5, 3], [1, 3, 6]], np.float32), np.array([1.0, 2, 3], np.float32)
    expected = eliminated(a.copy(), b.copy(), 3)
    for n in 3, tf.constant(3):
        got = tf.function(eliminated, executor=executor)(tf.constant(a), tf.constant(b), n)
        for x, want in zip(got, expected):
            np.testing.assert_allclose(x, want, rtol=1e-6)


@tf.function
def popcount(n):
    count = 0
    while n:
        count += n & 1
        n >>= 1
    return count


def test_shifts_are_operators():
    assert popcount(tf.constant(255)) == 8 and popcount(tf.constant(2**63, tf.uint64)) == 1
    assert (1 << tf.constant(3)) == 8 and tf.constant(-8) >> 1 == -4 and 2 << tf.Variable(1) == 4
    with pytest.raises(tf.errors.DTypeError, match="left_shift does not take float32"):
        tf.constant(1.0) << 1


@tf.function
def fnv1a(data):
    hash_ = tf.constant(2166136261, tf.uint32)
    for byte in data:
        hash_ = (hash_ ^ tf.cast(byte, tf.uint32)) * 16777619
    return hash_


def test_unsigned_arithmetic_wraps():
    expected = 2166136261
    for byte in b"hello":
        expected = (expected ^ byte) * 16777619 & 0xFFFFFFFF
    assert int(fnv1a(tf.constant(list(b"hello"), tf.uint8))) == expected


@tf.function
def conjugate_gradient(a, b, tolerance=1e-8):
    x = tf.zeros_like(b)
    r = p = b - a @ x
    rs = tf.reduce_sum(r * r)
    for _ in range(b.shape[0] * 2):
        ap = a @ p
        step = rs / tf.reduce_sum(p * ap)
        x += step * p
        r -= step * ap
        new = tf.reduce_sum(r * r)
        if new < tolerance:
            break
        p = r + new / rs * p
        rs = new
    return x


def test_conjugate_gradient():
    a, b = np.array([[4.0, 1], [1, 3]]), np.array([[1.0], [2]])
    np.testing.assert_allclose(conjugate_gradient(tf.constant(a), tf.constant(b)), np.linalg.solve(a, b), rtol=1e-4)


@tf.function
def simpson(f, a, b, n=100):
    h = (b - a) / n
    total = f(a) + f(b)
    for i in tf.range(1, n):
        total += (4.0 if i % 2 == 1 else 2.0) * f(a + tf.cast(i, a.dtype) * h)
    return total * h / 3


def test_simpson():
    area = simpson(tf.sin, tf.constant(0.0, tf.float64), tf.constant(math.pi, tf.float64))
    assert area.dtype is tf.float64 and abs(float(area) - 2) < 1e-6


@tf.function
def escapes(z):
    n = 0
    while tf.abs(z) < 2.0:
        z = z * z + (0.5 + 0.5j)
        n += 1
    return n, z


@pytest.mark.parametrize("dtype", [tf.complex64, tf.complex128])
def test_complex_state(dtype):
    n, z = escapes(tf.constant(0j, dtype))
    expected, count = 0j, 0
    while abs(expected) < 2:
        expected, count = expected * expected + (0.5 + 0.5j), count + 1
    assert n == count and z.dtype is dtype and abs(complex(z) - expected) < 1e-5


def test_python_complex_is_complex128_as_in_tf():
    assert tf.constant(1 + 2j).dtype is tf.complex128 and tf.constant([1j, 2]).dtype is tf.complex128
    assert (tf.complex(1.0, 2.0) * 1j).dtype is tf.complex64


# --- Staging ------------------------------------------------------------------------------------------------


@tf.function
def jump_at_the_end(n):
    while True:
        n -= 1
        if n < 3:
            break
        if n % 5 == 0:
            continue
    return n


def test_a_branch_with_nothing_in_it():
    assert jump_at_the_end(tf.constant(20)) == 2


LIMIT = 7


def member(x):
    if x in (1, 2, 3):
        return 10
    if x not in [4, -6, LIMIT]:
        return 20
    return 30


@pytest.mark.parametrize("x", [-6, 1, 4, 7, 9])
def test_membership_of_a_literal(x):
    assert tf.function(member)(tf.constant(x)) == ag.convert(member)(x) == member(x)


def test_membership_says_what_it_becomes():
    code = ag.to_code(member)
    assert "ag__.cond(ag__.in_(x, (1, 2, 3)), if_true, if_false, 'return_')" in code
    assert "ag__.cond(ag__.not_(ag__.in_(x, [4, -6, LIMIT])), if_true, if_false, 'return_')" in code
    text = ag.convert_source(
        "def f(x, d):\n    return x in ('a', 'b'), x in 'ab', 'a' in (x, x), 'a' in d, 'a' in 'ab'\n", "f.py")
    assert "ag__.in_(x, ('a', 'b')), ag__.in_(x, 'ab'), ag__.in_('a', (x, x)), ag__.in_('a', d), " in text
    text = ag.convert_source("def f(x, d):\n    return x in d, x not in d.keys, x in d[0]\n", "f.py")
    assert "ag__.in_(x, d), ag__.not_(ag__.in_(x, d.keys)), ag__.in_(x, d[0])" in text


def test_membership_of_more_than_a_scalar_is_an_error():
    with pytest.raises(tf.errors.ShapeError, match=r"bool\[2\]\n.*if x in \(1, 2, 3\)"):
        tf.function(member)(tf.constant([1, 2]))


def test_text_that_is_returned_has_the_values():
    @tf.function
    def f(x):
        return f"{x:.3f} and {x}", {"k": str(x)}

    @tf.function
    def g(x):
        text, _ = f(x * 2)
        return "got " + text

    assert f(tf.constant(1.5)) == ("1.500 and 1.5", {"k": "rt.Tensor(1.5, shape=(), dtype=float32)"})
    assert g(tf.constant(1.5)) == "got 3.000 and 3.0"


class Signed:
    def __init__(self, x):
        self.x = x

    @property
    def plain(self):
        return self.x if self.x > 0 else -self.x

    @property
    @ag.convert
    def converted(self):
        return self.x if self.x > 0 else -self.x


def test_a_property_whose_getter_is_converted_stages():
    f = tf.function(lambda x: Signed(x).converted)
    assert f(tf.constant(-3)) == 3 and f(tf.constant(2)) == 2


def test_a_property_stages_by_itself():
    f = tf.function(lambda x: Signed(x).plain)
    assert f(tf.constant(-3)) == 3 and f(tf.constant(2)) == 2


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)


def test_len_of_an_object_over_a_staged_list():
    @tf.function
    def f(n):
        stack = Stack()
        for i in tf.range(n):
            stack.push(i)
        last = stack.pop()
        while len(stack) > 2:
            stack.pop()
        return last, len(stack)

    assert f(tf.constant(6)) == (5, 2) and f(tf.constant(2)) == (1, 1)


def test_a_loop_that_makes_objects():
    def f(n):
        s = Signed(0)
        for i in tf.range(n):
            s = Signed(s.x + i)
        return s.x

    assert tf.function(f)(tf.constant(4)) == 6


def test_deep_nests_convert_fast():
    lines = ["def f(x):"]
    lines += ["    " * (depth + 1) + f"if x > {depth}:" for depth in range(12)]
    lines += ["    " * 13 + "x = x + 100", "    return x", ""]
    name, source = "<deep nest>", "\n".join(lines)
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    namespace = {}
    exec(compile(source, name, "exec"), namespace)
    f = tf.function(namespace["f"])
    assert f(tf.constant(50)) == 150 and f(tf.constant(3)) == 3


# --- Values and errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tf.int32, tf.uint8, tf.bool, tf.float64, tf.complex64])
def test_an_empty_list_takes_any_dtype(dtype):
    x = tf.constant([], dtype)
    assert x.dtype is dtype and x.shape == (0,)
    assert tf.concat([x, tf.constant([1], dtype) if dtype is not tf.bool else tf.constant([True])], 0).shape == (1,)


def test_shapes_that_only_the_run_knows_are_named_in_its_error():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None], tf.float32)])
    def f(a, b):
        return a + b

    what = r"the operands of add do not broadcast: \[2,3\] and \[2\]\n.*a \+ b"
    with pytest.raises(tf.errors.ShapeError, match=what):
        f(tf.ones([2, 3]), tf.ones([2]))


@pytest.mark.parametrize("index", [1.0, "a"])
def test_a_wrong_index_is_placed(index):
    with pytest.raises(tf.errors.DTypeError, match=r"test_idioms.py:\d+: an index is an int, a slice.*\n.*zeros"):
        tf.zeros([3])[index]


def test_concat_names_the_shapes():
    with pytest.raises(tf.errors.ShapeError, match=r"differ outside of axis 0: \[2,4\] and \[2,3\]"):
        tf.concat([tf.zeros([2, 4]), tf.zeros([2, 3])], 0)


def test_an_array_whose_writes_are_dropped():
    @tf.function
    def f(x):
        array = tf.TensorArray(tf.int32, 4)
        array.write(0, x)
        return array.stack()

    with pytest.raises(tf.errors.ShapeError, match=r"or write to it before: ta = ta\.write\(i, x\)"):
        f(tf.constant(1))
