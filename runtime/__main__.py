"""`python -m runtime`."""
from __future__ import annotations

import sys

from runtime.tools.cli import main

sys.exit(main())
