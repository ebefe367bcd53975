"""These tests need Keras, which needs Python 3.11: without it they are not collected."""
from __future__ import annotations

import importlib.metadata

try:
    importlib.metadata.version("keras")
except importlib.metadata.PackageNotFoundError:
    collect_ignore_glob = ["test_*.py"]
else:
    import runtime.keras  # noqa: F401  before a test imports keras, which then runs on it
