"""`model.export` and `keras.export.ExportArchive`: models as saved models of this runtime (`rt.saved_model`), which
load without Keras and without the model's source."""
from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any

from keras.src import backend, layers, tree
from keras.src.export.export_utils import make_input_spec

import runtime as rt

__all__ = ["RuntimeExportArchive"]


class RuntimeExportArchive:
    """The archive by which Keras exports models: endpoints, which are traced, and the variables that they use."""

    def __init__(self) -> None:
        self._module = rt.Module()
        self._tracked: list[Any] = []
        self._functions: dict[str, Any] = {}

    @property
    def variables(self) -> list[Any]:
        """The variables of the tracked resources."""
        return list(self._tracked)

    @property
    def trainable_variables(self) -> list[Any]:
        return [v for v in self._tracked if v.trainable]

    @property
    def non_trainable_variables(self) -> list[Any]:
        return [v for v in self._tracked if not v.trainable]

    def track(self, resource: Any) -> None:
        """Save the variables of a layer or model: the loaded module has them in `variables`, `trainable_variables` and
        `non_trainable_variables`. ValueError for a layer that is not built, and for other objects but tables."""
        if isinstance(resource, layers.Layer) and not resource.built:
            raise ValueError("The layer provided has not yet been built. It must be built before export.")
        if not isinstance(resource, (layers.Layer, rt.lookup.StaticHashTable, rt.lookup.StaticVocabularyTable)):
            raise ValueError(f"Invalid resource type. Expected a Keras `Layer`, `Model` or a table, not {resource!r}")
        self._tracked += getattr(resource, "variables", ())  # a table is saved with the functions that use it
        self.add_variable_collection("tracked", self._tracked)

    def add_endpoint(self, name: str, fn: Callable[..., Any], input_signature: Any = None, **kwargs: Any) -> Any:
        """Trace a function as the method `name` of the saved model; returns the traced function. `input_signature`: for
        each argument the shape and dtype, or a structure of them; without it `fn` must be an `rt.function` that has
        been called. ValueError for a name that is taken, or a function without a signature."""
        if name in self._functions:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if kwargs:
            raise ValueError(f"add_endpoint does not take {', '.join(kwargs)} with the runtime backend")
        if input_signature is not None:
            specs = tree.map_structure(_spec, list(input_signature))
            traced: Any = rt.function(_positional(fn, len(specs)), input_signature=specs, autograph=False, name=name)
            traced.get_concrete_function()
        elif isinstance(fn, rt.Function) and fn.concrete_functions:
            traced = fn
        else:
            raise ValueError(f"If the `fn` argument provided is not a `tf.function` that was called, you must provide "
                             f"an `input_signature` argument to specify the shape and dtype of its inputs: {name!r}")
        self._functions[name] = traced
        setattr(self._module, name, traced)
        return traced

    def track_and_add_endpoint(self, name: str, resource: Any, input_signature: Any, **kwargs: Any) -> Any:
        self.track(resource)
        return self.add_endpoint(name, resource, input_signature, **kwargs)

    def add_variable_collection(self, name: str, variables: Iterable[Any]) -> None:
        """Save variables as the attribute `name`. ValueError for anything else."""
        found = list(variables)
        if not all(isinstance(v, backend.Variable) for v in found):
            raise ValueError(f"Expected all elements in `variables` to be `keras.Variable` instances, not {found}")
        setattr(self._module, name, [v.__variable__() for v in found])

    def write_out(self, filepath: Any, options: Any = None, verbose: bool = True) -> None:
        """Write the folder. The endpoint `serve`, or else the first one, is the signature `serving_default`.
        ValueError without endpoints."""
        if not self._functions:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        default = self._functions.get("serve", next(iter(self._functions.values())))
        rt.saved_model.save(self._module, filepath, signatures={"serving_default": default, **self._functions})
        if verbose:
            print(f"Saved artifact at '{os.fspath(filepath)}', with the endpoints {', '.join(self._functions)}. "
                  "runtime.saved_model.load reads it, `python -m runtime run` runs it.")


def _positional(fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    """`fn` of its first `count` arguments, under their names: the signature of Keras' `__call__` does not name them."""
    params = inspect.signature(fn.call if isinstance(fn, layers.Layer) else fn).parameters.values()
    names = [each.name for each in params if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)][:count]
    names += [f"input_{k}" for k in range(len(names), count)]

    def endpoint(*args: Any) -> Any:
        return fn(*args)

    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
    return endpoint


def _spec(x: Any) -> rt.TensorSpec:
    """A TensorSpec for a TensorSpec, or for what Keras takes: an InputSpec, a KerasTensor or a tensor, whose first
    dimension, the batch size, becomes unknown. TypeError for anything else."""
    if isinstance(x, rt.TensorSpec):
        return x
    spec = make_input_spec(x)
    return rt.TensorSpec(spec.shape, spec.dtype, spec.name)
