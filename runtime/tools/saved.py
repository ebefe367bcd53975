"""`python -m runtime run PATH`: calls a signature of a saved model with arrays from files or the command line."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.saved_model import LoadedSignature, load

__all__ = ["BadInputError", "results_of", "shown", "written"]


class BadInputError(Exception):
    """The command's input does not fit the signature, or is invalid."""


def results_of(path: str, signature: str, inputs: Sequence[str]) -> dict[str, Any]:
    """The results, as arrays by name. Each input is `[NAME=]FILE.npy` or `[NAME=]JSON`."""
    model = load(path)
    found = model.signatures.get(signature)
    if found is None:
        there = ", ".join(sorted(model.signatures)) or "none"
        raise BadInputError(f"{path} has no signature {signature!r}: there is {there}")
    return {name: np.asarray(x) for name, x in found(**_named(found, inputs)).items()}


def _named(signature: LoadedSignature, inputs: Sequence[str]) -> dict[str, Any]:
    provided: dict[str, Any] = {}
    for text in inputs:
        name, is_named, rest = text.partition("=")
        if not (is_named and name in signature.inputs):
            free = [each for each in signature.inputs if each not in provided]
            if not free:
                raise BadInputError(f"{text!r} is one input too many: the signature is {signature!r}")
            name, rest = free[0], text
        provided[name] = _array(rest)
    missing = [name for name in signature.inputs if name not in provided]
    if missing:
        raise BadInputError(f"no --input was given for {', '.join(missing)}: the signature is {signature!r}")
    return provided


def _array(text: str) -> Any:
    if text.endswith(".npy"):
        try:
            return np.load(text, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise BadInputError(f"{text}: {error}") from None
    try:
        return json.loads(text)
    except ValueError:
        raise BadInputError(f"{text!r} is neither a file of NumPy's (.npy) nor JSON, such as '[1.0, 2.0]'") from None


def shown(results: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {x.dtype}{list(x.shape)}\n{x}" for name, x in results.items())


def written(path: str, results: Mapping[str, Any]) -> None:
    """Write the results: one to a `.npy` file, several to an `.npz` file."""
    if path.endswith(".npz"):
        np.savez(path, **results)
    elif path.endswith(".npy") and len(results) == 1:
        np.save(path, *results.values())
    else:
        raise BadInputError(f"{path!r}: the results {', '.join(results)} go into an .npz file, a single one also into "
                            "a .npy file")
