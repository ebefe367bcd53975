"""L-BFGS: a quasi-Newton method with a memory of the last steps and a line search, in one traced function.

The memory is two lists that grow and then slide; how long they are, how many iterations there are and how many points
each line search tries is decided by tensors.
"""
from __future__ import annotations

import runtime as rt

try:
    from scipy.optimize import minimize as scipy_minimize
except ImportError:
    scipy_minimize = None

MEMORY = 8


def rosenbrock(x):
    """A curved valley, whose lowest point is at ones."""
    return rt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def dot(x, y):
    return rt.reduce_sum(x * y)


def quasi_newton(gradient, steps, changes):
    """The inverse of the Hessian, as the last steps and changes of the gradient tell it, times the gradient."""
    shares = []
    for k in range(len(steps)):
        i = len(steps) - 1 - k
        share = dot(steps[i], gradient) / dot(steps[i], changes[i])
        gradient = gradient - share * changes[i]
        shares.append(share)
    if len(steps) > 0:
        gradient = gradient * dot(steps[-1], changes[-1]) / dot(changes[-1], changes[-1])
    for i in range(len(steps)):
        share = dot(changes[i], gradient) / dot(steps[i], changes[i])
        gradient = gradient + (shares[len(steps) - 1 - i] - share) * steps[i]
    return gradient


def line_search(f, x, direction, value, gradient):
    """How far to go, by bisection, so that the value falls enough and the slope flattens enough (weak Wolfe)."""
    slope = dot(gradient, direction)
    low, high, size = 0.0 * slope, rt.constant(float("inf"), x.dtype), 1.0 + 0.0 * slope
    while True:
        new_value, new_gradient = rt.value_and_grad(f)(x + size * direction)
        if new_value > value + 1e-4 * size * slope:
            high = size
        elif dot(new_gradient, direction) < 0.9 * slope:
            low = size
        else:
            break
        size = 0.5 * (low + high) if high < float("inf") else 2.0 * low
    return size, new_value, new_gradient


@rt.function
def minimize(x, tolerance):
    """The lowest point that is found from `x`, the value there, and the number of iterations."""
    steps, changes = [], []
    value, gradient = rt.value_and_grad(rosenbrock)(x)
    iterations = 0
    while rt.reduce_max(rt.abs(gradient)) > tolerance:
        direction = -quasi_newton(gradient, steps, changes)
        size, value, new_gradient = line_search(rosenbrock, x, direction, value, gradient)
        steps.append(size * direction)
        changes.append(new_gradient - gradient)
        if len(steps) > MEMORY:
            steps.pop(0)
            changes.pop(0)
        x, gradient = x + size * direction, new_gradient
        iterations += 1
    return x, value, iterations


if __name__ == "__main__":
    start = rt.constant([-1.2, 1.0] * 5, rt.float64)
    x, value, iterations = minimize(start, rt.constant(1e-8, rt.float64))
    print(f"{iterations.numpy()} iterations, value {value.numpy():.1e}")
    print("x is", *x.numpy().round(6))
    best = [1.0] * 10
    if scipy_minimize is not None:
        function = rt.function(rt.value_and_grad(rosenbrock))
        best = scipy_minimize(lambda x: [y.numpy() for y in function(rt.constant(x))], start.numpy(), jac=True,
                              method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-8}).x
    print(f"at most {abs(x.numpy() - best).max():.0e} from {'the optimum' if scipy_minimize is None else 'SciPy'}")
