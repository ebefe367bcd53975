"""Programs and their variables in files (`tf.saved_model`): saved here, loaded where the source is not."""
from __future__ import annotations

from runtime.saved_model.functions import LoadedFunction, LoadedSignature
from runtime.saved_model.loading import LoadedModule, load
from runtime.saved_model.saving import contains_saved_model, save

__all__ = ["LoadedFunction", "LoadedModule", "LoadedSignature", "contains_saved_model", "load", "save"]
