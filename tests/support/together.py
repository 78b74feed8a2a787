"""Keeps tests on one worker that share what is slow to make, when the suite runs on several.

Used by the conftest of all tests. The marks of pytest-xdist do not reach its scheduler with this
version of pytest: it goes by the beginning of a test's path instead.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

#: Folders and files below which one worker runs everything.
TOGETHER = (
    "tests/browser/",
    "tests/end_to_end/",
    "tests/plans/",
    "tests/worker/test_loop.py",
    "tests/launcher/test_embedded_postgres.py",
    "tests/api/protocol/test_schema.py",
)


class TogetherScheduling(LoadScopeScheduling):  # type: ignore[misc]  # an untyped package
    """Hands out tests one by one, and those of a place in TOGETHER as one; the largest first."""

    def _split_scope(self, nodeid: str) -> str:
        return place_of(nodeid)


def place_of(nodeid: str) -> str:
    """Return the place whose tests stay together with this one; alone, its own id."""
    return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)
