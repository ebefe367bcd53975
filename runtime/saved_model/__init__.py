"""Programs and their variables in files (`tf.saved_model`), which load without the program's source."""
from __future__ import annotations

from runtime.core.public_names import hint_at_public_names
from runtime.saved_model.functions import LoadedFunction, LoadedSignature
from runtime.saved_model.loading import LoadedModule, load
from runtime.saved_model.options import LoadOptions, SaveOptions
from runtime.saved_model.saving import contains_saved_model, save

__all__ = ["LoadOptions", "LoadedFunction", "LoadedModule", "LoadedSignature", "SaveOptions", "contains_saved_model",
           "load", "save"]

hint_at_public_names(__name__)
