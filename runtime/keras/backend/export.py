"""`model.export` and `keras.export.ExportArchive`: models as saved models of this runtime (`rt.saved_model`), which are
loaded without Keras and without the source of the model."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from keras.src import backend, layers, tree

import runtime as rt

__all__ = ["RuntimeExportArchive"]


class RuntimeExportArchive:
    """What Keras exports models by: endpoints, which are traced, and the variables that they use."""

    def __init__(self) -> None:
        self._module = rt.Module()
        self._tracked: list[Any] = []
        self._functions: dict[str, Any] = {}

    def track(self, resource: Any) -> None:
        """Save the variables of a layer or model: the loaded module has them in `variables`, `trainable_variables` and
        `non_trainable_variables`. ValueError for a layer that is not built."""
        if isinstance(resource, layers.Layer) and not resource.built:
            raise ValueError("The layer provided has not yet been built. It must be built before export.")
        self._tracked += getattr(resource, "variables", ())
        self.add_variable_collection("tracked", self._tracked)

    def add_endpoint(self, name: str, fn: Callable[..., Any], input_signature: Any = None, **kwargs: Any) -> Any:
        """Trace a function as the method `name` of the saved model; the traced function. `input_signature`: for each
        argument the shape and dtype, or a structure of them. Without it `fn` is an `rt.function` that was called.
        ValueError for a name that is there, or for what has no signature."""
        if name in self._functions:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if kwargs:
            raise ValueError(f"add_endpoint does not take {', '.join(kwargs)} with the runtime backend")
        if input_signature is not None:
            specs = tree.map_structure(_spec, list(input_signature))
            traced: Any = rt.function(lambda *args: fn(*args), input_signature=specs, autograph=False, name=name)
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


def _spec(x: Any) -> rt.TensorSpec:
    """A TensorSpec for an InputSpec, a KerasTensor, a tensor or a TensorSpec."""
    if isinstance(x, layers.InputSpec):
        if x.shape is None:
            raise ValueError(f"an InputSpec of an endpoint has a shape, unlike {x}")
        return rt.TensorSpec(x.shape, x.dtype or backend.floatx(), getattr(x, "name", None))
    if isinstance(x, rt.TensorSpec):
        return x
    if isinstance(x, backend.KerasTensor):
        return rt.TensorSpec(x.shape, x.dtype, x.name)
    found = backend.convert_to_tensor(x)
    return rt.TensorSpec(found.shape, found.dtype)
