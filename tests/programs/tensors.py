"""Programs that call the runtime: tensors in control flow, shapes that change, variables, slices, raises."""
from __future__ import annotations

import runtime as rt
from programs import fixed, runtime_program


@runtime_program(([1.0, 2.0, 3.0],), ([-1.0, -5.0],))
def sum_decides(x):
    if rt.reduce_sum(x) > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@runtime_program(([1.0, 2.0],), ([0.25, 0.5],))
def doubled_until_large(x):
    steps = 0
    while rt.reduce_sum(x) < 10:
        x = x * 2
        steps += 1
    return x, steps


@runtime_program(([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]),)
def matrix_power_action(m, v):
    for _ in range(3):
        v = rt.linalg.matvec(m, v)
    return v


@runtime_program(([[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.0], [0.0, 0.5]], 4),)
def repeated_matmul(a, b, n):
    i = 0
    while i < n:
        a = a @ b
        i += 1
    return a


@runtime_program(([1.0, 2.0, 3.0, 4.0], 2), ([1.0, 2.0], 0))
def weak_numbers_meet_tensors(xs, k):
    n = 0
    mean = 0
    for x in xs:
        n += 1
        mean += (x - mean) / n
        if n > k:
            mean = mean * 1
    return mean, n


@runtime_program(([1, 2], 3), ([5], 0))
def concatenated_in_loop(x, n):
    out = x
    for i in range(n):
        out = rt.concat([out, rt.reshape(i, [1])], axis=0)
    return out


@runtime_program(([[1, 2], [3, 4], [5, 6]],),)
def rows_stacked(m):
    rows = []
    for row in m:
        rows.append(row * 2)
    return rt.stack(rows)


@runtime_program(([3, -1, 4, -1, 5],), ([1],))
def where_and_loop(xs):
    clipped = rt.where(xs > 0, xs, 0)
    total = 0
    for x in clipped:
        total += x
    return total


@runtime_program(([5, 6, 7, 8], 3), ([5, 6, 7, 8], 1))
def sliced_by_loop_index(x, n):
    s = 0
    for i in range(n):
        s += rt.reduce_sum(x[i:])
    return s, x[: n + 1]


@runtime_program((3, 2.0), (0, 2.0))
def explicit_cast(n, x):
    total = rt.constant(0.0)
    for i in range(n):
        total += rt.cast(i, rt.float32) * x
    return total


@runtime_program((3,), (-3,))
def shapes_by_branch(x):
    if x > 0:
        y = rt.zeros([2])
    else:
        y = rt.ones([3])
    return y


@runtime_program((3,), (0,))
def variable_in_loop(n):
    v = STATE
    v.assign(1)
    for i in range(n):
        v.assign_add(i)
    return v.read_value()


@runtime_program((3,), (-3,))
def variable_in_branch(x):
    STATE.assign(10)
    if x > 0:
        STATE.assign_add(x)
    else:
        STATE.assign_sub(1)
    return STATE * 2


@runtime_program((3,), (-3,))
def variable_read_in_order(x):
    STATE.assign(0)
    a = STATE.read_value()
    STATE.assign(x)
    b = STATE.read_value()
    if b > 0:
        STATE.assign(100)
    return a, b, STATE.read_value()


STATE = rt.Variable(0) if hasattr(rt, "Variable") else None


@runtime_program((5,), (1,))
def conditional_op(n):
    return rt.cond(n > 2, lambda: n * 2, lambda: n - 1)


@runtime_program((5,), (0,))
def while_loop_op(n):
    return rt.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [rt.constant(0), rt.constant(0)])


@runtime_program(([1.0, -2.0, 3.0],),)
def map_fn_op(xs):
    def f(x):
        if x > 0:
            return x * 2
        return -x

    return rt.map_fn(f, xs)


@runtime_program(([3, 1, 2],), ([7, 7],))
def greedy_maximum(xs):
    best = rt.constant(-1)
    where = rt.constant(-1)
    for i, x in enumerate(xs):
        if x > best:
            best, where = x, i
    return best, where


@runtime_program(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [3, 1]),)
def sequence_lengths(inputs, lengths):
    state = rt.zeros([2])
    steps = rt.reduce_max(lengths)
    for t in range(steps):
        new = state * 0.5 + inputs[:, t]
        state = rt.where(t < lengths, new, state)
    return state


@runtime_program(([0.1, 0.7, 0.2], 5), ([0.0, 0.1, 0.9], 5))
def greedy_decoding(scores, limit):
    tokens = []
    token = 0
    while True:
        token = (token + rt.argmax(scores)) % 3
        tokens.append(token)
        if token == 0 or len(tokens) >= limit:
            break
    return len(tokens)


@runtime_program((3,), (-3,))
def raise_with_tensor(x):
    if x < 0:
        raise ValueError("negative")
    return rt.square(x)


@runtime_program((fixed([1, 2, 3]), 2), (fixed([4]), 0))
def tensor_made_inside(xs, n):
    x = rt.constant(xs)
    if n > 0:
        x = x + n
    return x


@runtime_program((2.0, 3.0),)
def function_in_function(x, y):
    return inner_function(x) + inner_function(y) * 2


if hasattr(rt, "function"):
    @rt.function
    def inner_function(x):
        if x > 2:
            return x * 10
        return x


@runtime_program(([1, 2, 3], 1), ([1, 2, 3], 5))
def assert_op(x, k):
    rt.debugging.assert_less(k, 3, message="k is too large")
    return x * k


@runtime_program(([[1, 2], [3, 4]], 0), ([[1, 2], [3, 4]], 1))
def indexed_item(m, i):
    row = m[i]
    if row[0] > 2:
        return row[0] + m[0, 1]
    return row[1] - m[-1, -1]


@runtime_program(([[[0.0, 1.0, 0.0, 2.0], [1.0, 3.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
                   [[1.0, 1.0, 2.0, 1.0], [0.0, 0.0, 1.0, 0.0], [3.0, 1.0, 1.0, 2.0]]], [1.0, -1.0], 4))
def convolutional_net(images, targets, steps):
    """Trained with gradients by hand: convolution, relu, max pooling, mean, a linear layer, the square of the error."""
    x = rt.expand_dims(images, -1)
    filters = rt.reshape(rt.cast(rt.range(18) % 5, rt.float32), [3, 3, 1, 2]) / 8.0 - 0.2
    weights = rt.constant([0.5, -0.5])
    loss = 0.0
    for _ in range(steps):
        y = rt.nn.relu(rt.nn.conv2d(x, filters, 1, "SAME"))
        pooled, places = rt.nn.max_pool_with_argmax(y, 2, 2, "SAME", include_batch_in_index=True)
        features = rt.reduce_mean(pooled, [1, 2])
        error = rt.reduce_sum(features * weights, 1) - targets
        loss = rt.reduce_mean(rt.square(error))
        if loss < 0.01:
            break

        by_output = rt.expand_dims(error, 1) * 2.0 / rt.cast(rt.shape(error)[0], rt.float32)
        by_features = by_output * weights
        by_pooled = (rt.reshape(by_features, [-1, 1, 1, 2]) * rt.ones_like(pooled)
                     / rt.cast(rt.shape(pooled)[1] * rt.shape(pooled)[2], rt.float32))
        by_y = rt.scatter_nd(rt.reshape(places, [-1, 1]), rt.reshape(by_pooled, [-1]), [rt.size(y)])
        by_y = rt.where(y > 0.0, rt.reshape(by_y, rt.shape(y)), 0.0)
        weights -= 0.05 * rt.reduce_sum(by_output * features, 0)
        filters -= 0.05 * rt.nn.conv2d_backprop_filter(x, rt.shape(filters), by_y, 1, "SAME")
    return loss, filters, weights
