"""Saving and resuming of training, and averages of variables (`tf.train`)."""
from __future__ import annotations

from runtime.core.examples import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from runtime.core.public_names import hint_at_public_names
from runtime.train.checkpoint import (
    Checkpoint,
    CheckpointOptions,
    CheckpointReader,
    RestoreStatus,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from runtime.train.manager import CheckpointManager, CheckpointState, get_checkpoint_state
from runtime.train.moving_average import ExponentialMovingAverage

__all__ = [
    "BytesList", "Checkpoint", "CheckpointManager", "CheckpointOptions", "CheckpointReader", "CheckpointState",
    "Example", "ExponentialMovingAverage", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
    "Int64List", "RestoreStatus", "SequenceExample", "get_checkpoint_state", "latest_checkpoint", "list_variables",
    "load_checkpoint", "load_variable",
]

hint_at_public_names(__name__)
