"""Random numbers of distributions that NumPy draws: gamma and Poisson."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core.errors import InvalidArgumentError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorSpec, as_dtype, float32
from runtime.ops.host_functions import numpy_function
from runtime.ops.math import cast, divide
from runtime.ops.op_makers import FLOATS, check_dtype, named
from runtime.ops.random_sources import Stream, source_of_seed
from runtime.ops.shape import shape_argument

__all__ = ["gamma", "poisson"]


def gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
          ) -> Tensor:
    """Draws from Gamma distributions (`tf.random.gamma`): shape `shape + alpha.shape`, floats without a derivative.

    alpha  the shapes of the distributions, > 0: InvalidArgumentError
    beta   their inverse scales, a shape that broadcasts to that of `alpha`; by default 1
    """
    want = as_dtype(dtype)
    check_dtype("random.gamma", want, FLOATS)
    shapes = convert_to_tensor(alpha, dtype=want)
    drawn = _drawn("gamma", source_of_seed(seed), shape, shapes, want)
    return named(drawn if beta is None else divide(drawn, convert_to_tensor(beta, dtype=want)), name)


def poisson(shape: Any, lam: Any, dtype: Any = float32, seed: Any = None, name: str | None = None) -> Tensor:
    """Draws from Poisson distributions of the rates `lam`, >= 0 (`tf.random.poisson`): shape `shape + lam.shape`,
    without a derivative. InvalidArgumentError for a negative rate."""
    return named(_drawn("poisson", source_of_seed(seed), shape, cast(lam, "float64"), as_dtype(dtype)), name)


def _drawn(distribution: str, source: Stream, shape: Any, parameters: Tensor, dtype: DType) -> Tensor:
    dims, operand = shape_argument(f"random.{distribution}", shape)

    def draw(values: Any, *sizes: Any) -> Any:
        size = (*(sizes[0].tolist() if sizes else dims), *np.shape(values))
        if not (np.all(values > 0) if distribution == "gamma" else np.all(values >= 0)):
            raise located(InvalidArgumentError(f"random.{distribution} takes a parameter that is not negative"
                                               f"{' or 0' if distribution == 'gamma' else ''}, not {values}"))
        with source.lock:
            made = getattr(source.generator, distribution if distribution == "poisson" else "standard_gamma")(
                np.float64(values), size)
        return np.asarray(made).astype(dtype.as_numpy_dtype)

    draw.__name__ = f"random.{distribution}"
    inputs = [parameters] if operand is None else [parameters, operand]
    made: Tensor = numpy_function(draw, inputs, TensorSpec((*dims, *parameters.type.shape), dtype))
    return made
