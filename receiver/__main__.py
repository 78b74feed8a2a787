"""``python -m receiver``: the test receiver on its own."""

from __future__ import annotations

import sys

from receiver.server import main

sys.exit(main(sys.argv[1:]))
