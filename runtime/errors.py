"""The errors of the runtime, under TF2's names where TF2 has one (`tf.errors`), and the numbers of their kinds."""
from __future__ import annotations

from runtime.core.errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    DivisionByZeroError,
    DTypeError,
    FailedPreconditionError,
    GraphError,
    InaccessibleTensorError,
    IndexOutOfRangeError,
    InternalError,
    InvalidArgumentError,
    InvalidNumberError,
    InvalidSliceError,
    LinearAlgebraError,
    MissingKeyError,
    NotFoundError,
    NotIterableError,
    NumberOverflowError,
    OperatorNotAllowedInGraphError,
    OpError,
    OutOfMemoryError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    ShapeError,
    StagingError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
    locate,
)
from runtime.core.public_names import hint_at_public_names

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DTypeError",
    "DataLossError",
    "DeadlineExceededError",
    "DivisionByZeroError",
    "FailedPreconditionError",
    "GraphError",
    "InaccessibleTensorError",
    "IndexOutOfRangeError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidNumberError",
    "InvalidSliceError",
    "LinearAlgebraError",
    "MissingKeyError",
    "NotFoundError",
    "NotIterableError",
    "NumberOverflowError",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "ShapeError",
    "StagingError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "locate",
]

hint_at_public_names(__name__)
