"""Keeping and resuming training (`tf.train`)."""
from __future__ import annotations

from runtime.train.checkpoint import Checkpoint, CheckpointReader, RestoreStatus, list_variables, load_checkpoint
from runtime.train.manager import CheckpointManager, latest_checkpoint

__all__ = [
    "Checkpoint", "CheckpointManager", "CheckpointReader", "RestoreStatus", "latest_checkpoint", "list_variables",
    "load_checkpoint",
]
