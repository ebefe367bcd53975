"""Saving and resuming of training, and averages of variables (`tf.train`)."""
from __future__ import annotations

from runtime.core.examples import BytesList, Example, Feature, Features, FloatList, Int64List
from runtime.train.checkpoint import Checkpoint, CheckpointReader, RestoreStatus, list_variables, load_checkpoint
from runtime.train.manager import CheckpointManager, latest_checkpoint
from runtime.train.moving_average import ExponentialMovingAverage

__all__ = [
    "BytesList", "Checkpoint", "CheckpointManager", "CheckpointReader", "Example", "ExponentialMovingAverage",
    "Feature", "Features", "FloatList", "Int64List", "RestoreStatus", "latest_checkpoint", "list_variables",
    "load_checkpoint",
]
