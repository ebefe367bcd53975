"""A small tensor runtime with TensorFlow 2's names: `import runtime as rt`.

A program pays for what it uses: the public submodules, tracing, differentiation and batching are loaded when one of
their names is first asked for (`_LATE`).
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograph import register
from autograph.backend import deferred, deferred_names, hide_package, unknown
from runtime.core.graph import Graph, UnrollingWarning
from runtime.core.graph_views import Operation
from runtime.core.op import REGISTRY
from runtime.core.operations import OPERATIONS
from runtime.core.public_names import PUBLIC_NAMES
from runtime.core.tensor import Tensor
from runtime.core.trace import init_scope, inside_function
from runtime.core.types import (
    DType,
    TensorShape,
    TensorSpec,
    as_dtype,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from runtime.core.types import (
    bool_ as bool,
)
from runtime.debugging import (
    Assert,
    assert_equal,
    assert_greater,
    assert_less,
    assert_rank,
    print,
)
from runtime.function.decorate import function
from runtime.function.variables.module import Module
from runtime.function.variables.static_values import convert_to_tensor, executing_eagerly, get_static_value, is_tensor
from runtime.function.variables.variable import Variable, name_scope
from runtime.function.variables.variable_options import VariableAggregation, VariableSynchronization
from runtime.ops.bitcast import bitcast
from runtime.ops.complex_numbers import complex
from runtime.ops.concat_split import concat, pad, repeat, roll, split, tile, unstack
from runtime.ops.creation import (
    constant,
    eye,
    fill,
    identity,
    linspace,
    meshgrid,
    one_hot,
    ones,
    ones_like,
    range,
    sequence_mask,
    zeros,
    zeros_like,
)
from runtime.ops.gather import (
    boolean_mask,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from runtime.ops.gather import gather_slices as gather
from runtime.ops.gather_nd import gather_nd
from runtime.ops.host_functions import numpy_function, py_function
from runtime.ops.indexing import reverse, strided_slice
from runtime.ops.indexing import slice_ as slice
from runtime.ops.linalg import clip_by_global_norm, einsum, matmul, tensordot
from runtime.ops.logic import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from runtime.ops.math import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cast,
    clip_by_value,
    cos,
    cosh,
    divide,
    exp,
    floor,
    maximum,
    minimum,
    multiply,
    negative,
    pow,
    round,
    saturate_cast,
    scalar_mul,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    stop_gradient,
    subtract,
    tan,
    tanh,
    truediv,
    truncatediv,
    truncatemod,
)
from runtime.ops.matrix_functions import clip_by_norm, norm
from runtime.ops.program_order import (
    control_dependencies,
    device,
    group,
    identity_n,
    is_symbolic_tensor,
    no_op,
    tuple,
)
from runtime.ops.reduction import (
    add_n,
    argmax,
    argmin,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from runtime.ops.segments import (
    bincount,
    dynamic_partition,
    dynamic_stitch,
    histogram_fixed_width,
    histogram_fixed_width_bins,
    unravel_index,
)
from runtime.ops.sequences import (
    batch_to_space,
    broadcast_dynamic_shape,
    reverse_sequence,
    space_to_batch,
    timestamp,
)
from runtime.ops.shape import (
    broadcast_static_shape,
    broadcast_to,
    expand_dims,
    rank,
    reshape,
    shape,
    shape_n,
    size,
    squeeze,
    stack,
    transpose,
)
from runtime.ops.shape_refinement import ensure_shape
from runtime.ops.sorting import argsort, searchsorted, sort, unique, unique_with_counts
from runtime.ops.sparse import IndexedSlices, SparseTensor
from runtime.ops.sparse_values import edit_distance
from runtime.ops.string_tensors import add, as_string
from runtime.version import VERSION

hide_package(__file__)
if TYPE_CHECKING:
    from autograph import set_loop_options
    from runtime import (
        autodiff,
        autograph,
        bitwise,
        compat,
        config,
        data,
        debugging,
        distribute,
        dtypes,
        errors,
        experimental,
        image,
        initializers,
        io,
        linalg,
        lookup,
        math,
        nest,
        nn,
        numpy,
        profiler,
        quantization,
        random,
        saved_model,
        sets,
        signal,
        sparse,
        strings,
        summary,
        test,
        train,
        types,
        version,
    )
    from runtime.autodiff.custom import custom_gradient, grad_pass_through
    from runtime.autodiff.functional import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp
    from runtime.autodiff.recompute import recompute_grad
    from runtime.autodiff.tape import GradientTape, UnconnectedGradients
    from runtime.autodiff.whole_graph import gradients, hessians
    from runtime.batching.vmap import vectorized_map, vmap
    from runtime.compat import get_logger
    from runtime.core.absent import RaggedTensor, ragged
    from runtime.eigenvalues import eig, eigvals
    from runtime.factorizations import sqrtm as matrix_square_root
    from runtime.function.arguments.retracing import RetracingWarning
    from runtime.function.concrete import ConcreteFunction
    from runtime.function.function import Function
    from runtime.initializers import Constant as constant_initializer
    from runtime.initializers import Ones as ones_initializer
    from runtime.initializers import RandomNormal as random_normal_initializer
    from runtime.initializers import RandomUniform as random_uniform_initializer
    from runtime.initializers import Zeros as zeros_initializer
    from runtime.staging.control_flow import case, cond, foldl, foldr, map_fn, scan, switch_case, while_loop
    from runtime.staging.values.tensor_array import TensorArray
    from runtime.types import TypeSpec

    bfloat16: DType

_staging = deferred("runtime.staging.backend")
register(Tensor, _staging)
register(Variable, _staging)
REGISTRY.completed_by(deferred("runtime.ops.families"))
PUBLIC_NAMES.defined_in(deferred("runtime.missing_names"))
OPERATIONS.defined_in(deferred("runtime.numpy.dispatch"), _staging)
_LATE = deferred_names(globals(), {
    "autograph": ("set_loop_options",),
    "runtime": (
        "autodiff", "autograph", "bitwise", "compat", "config", "data", "debugging", "distribute", "dtypes", "errors",
        "experimental", "image", "initializers", "io", "keras", "linalg", "lookup", "math", "nest", "nn", "numpy",
        "profiler", "quantization", "random", "saved_model", "sets", "signal", "sparse", "strings", "summary", "test",
        "train", "types", "version"),
    "runtime.core.absent": ("RaggedTensor", "ragged"),
    "runtime.autodiff.custom": ("custom_gradient", "grad_pass_through"),
    "runtime.autodiff.functional": ("grad", "hessian", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp"),
    "runtime.autodiff.recompute": ("recompute_grad",),
    "runtime.autodiff.tape": ("GradientTape", "UnconnectedGradients"),
    "runtime.autodiff.whole_graph": ("gradients", "hessians"),
    "runtime.batching.vmap": ("vectorized_map", "vmap"),
    "runtime.compat": ("get_logger",),
    "runtime.dtypes": ("bfloat16",),
    "runtime.eigenvalues": ("eig", "eigvals"),
    "runtime.factorizations": ("sqrtm as matrix_square_root",),
    "runtime.function.concrete": ("ConcreteFunction",),
    "runtime.function.function": ("Function",),
    "runtime.function.arguments.retracing": ("RetracingWarning",),
    "runtime.initializers": (
        "Constant as constant_initializer", "Ones as ones_initializer", "RandomNormal as random_normal_initializer",
        "RandomUniform as random_uniform_initializer", "Zeros as zeros_initializer"),
    "runtime.keras": ("losses", "metrics", "optimizers"),
    "runtime.staging.control_flow": (
        "case", "cond", "foldl", "foldr", "map_fn", "scan", "switch_case", "while_loop"),
    "runtime.staging.values.tensor_array": ("TensorArray",),
    "runtime.types": ("TypeSpec",),
})
_util = deferred("importlib.util")

newaxis = None
double = float64
half = float16
__version__ = VERSION

__all__ = [
    "Assert",
    "ConcreteFunction",
    "DType",
    "Function",
    "GradientTape",
    "Graph",
    "IndexedSlices",
    "Module",
    "Operation",
    "RaggedTensor",
    "RetracingWarning",
    "SparseTensor",
    "Tensor",
    "TensorArray",
    "TensorShape",
    "TensorSpec",
    "TypeSpec",
    "UnconnectedGradients",
    "UnrollingWarning",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "abs",
    "acos",
    "acosh",
    "add",
    "add_n",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "atan",
    "atan2",
    "atanh",
    "autodiff",
    "autograph",
    "batch_to_space",
    "bincount",
    "bitcast",
    "bitwise",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "compat",
    "complex",
    "complex64",
    "complex128",
    "concat",
    "cond",
    "config",
    "constant",
    "constant_initializer",
    "control_dependencies",
    "convert_to_tensor",
    "cos",
    "cosh",
    "cumsum",
    "custom_gradient",
    "data",
    "debugging",
    "device",
    "distribute",
    "divide",
    "double",
    "dtypes",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "eig",
    "eigvals",
    "einsum",
    "ensure_shape",
    "equal",
    "errors",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "experimental",
    "eye",
    "fill",
    "float16",
    "float32",
    "float64",
    "floor",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "get_logger",
    "get_static_value",
    "grad",
    "grad_pass_through",
    "gradients",
    "greater",
    "greater_equal",
    "group",
    "half",
    "hessian",
    "hessians",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "identity",
    "identity_n",
    "image",
    "init_scope",
    "initializers",
    "inside_function",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "is_symbolic_tensor",
    "is_tensor",
    "jacfwd",
    "jacrev",
    "jvp",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "lookup",
    "map_fn",
    "math",
    "matmul",
    "matrix_square_root",
    "maximum",
    "meshgrid",
    "minimum",
    "multiply",
    "name_scope",
    "negative",
    "nest",
    "newaxis",
    "nn",
    "no_op",
    "norm",
    "not_equal",
    "numpy",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "pad",
    "pow",
    "print",
    "profiler",
    "py_function",
    "quantization",
    "ragged",
    "random",
    "random_normal_initializer",
    "random_uniform_initializer",
    "range",
    "rank",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "repeat",
    "reshape",
    "reverse",
    "reverse_sequence",
    "roll",
    "round",
    "saturate_cast",
    "saved_model",
    "scalar_mul",
    "scan",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "set_loop_options",
    "sets",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "signal",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "sparse",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "strings",
    "subtract",
    "summary",
    "switch_case",
    "tan",
    "tanh",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensordot",
    "test",
    "tile",
    "timestamp",
    "train",
    "transpose",
    "truediv",
    "truncatediv",
    "truncatemod",
    "tuple",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "value_and_grad",
    "vectorized_map",
    "version",
    "vjp",
    "vmap",
    "where",
    "while_loop",
    "zeros",
    "zeros_initializer",
    "zeros_like",
]


def __dir__() -> list[str]:
    """The public names, without the folders that they come from. Those that need another package are not in `__all__`:
    a star import would load it."""
    narrow = ["bfloat16"] if _util.find_spec("ml_dtypes") else []
    keras = _util.find_spec("keras")
    is_there = keras is not None and keras.origin is not None  # a directory of this name has no origin
    of_keras = ["keras", "losses", "metrics", "optimizers"] if is_there else []
    return [*__all__, *narrow, *of_keras, "__doc__", "__file__", "__name__", "__path__", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return _LATE.load(name)
    raise unknown(__name__, name, __all__, lambda name: PUBLIC_NAMES.why(__name__, name))
