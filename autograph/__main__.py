"""`python -m autograph`, the same as the command `autograph`."""
from __future__ import annotations

import sys

from autograph.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
