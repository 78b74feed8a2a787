"""Keeps tests on one worker that share what is slow to make, when the suite runs on several.

Used by the conftest of all tests. The marks of pytest-xdist do not reach its scheduler with this
version of pytest: it goes by the beginning of a test's path instead.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from xdist.scheduler import LoadScopeScheduling

#: Folders and files below which one worker runs everything.
TOGETHER = (
    "tests/browser/",
    "tests/end_to_end/",
    "tests/plans/",
    "tests/worker/test_loop.py",
    "tests/launcher/test_embedded_postgres.py",
    "tests/api/protocol/test_schema.py",
    "tests/recount/test_metrics.py",
)
#: Folders in which one worker runs all of a file: its world takes seconds to make.
FILES_OF = ("tests/access/",)


class TogetherScheduling(LoadScopeScheduling):  # type: ignore[misc]  # an untyped package
    """Hands out tests one by one, and those of a place as one; the places with most tests first.

    After each test, the scheduling of the base class counts all tests that the worker was given,
    and looks for the next one in the list of all: with tens of thousands, it would take a part of
    the processors that the workers need.
    """

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note a test as done, and forget a place whose tests are all done."""
        super().mark_test_complete(node, item_index, duration)
        given, place = self.assigned_work[node], place_of(self.collection[item_index])
        if all(given[place].values()):
            del given[place]

    def _assign_work_unit(self, node: Any) -> None:
        place, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][place] = tests
        node.send_runtest_some(
            [self._numbers[test] for test, is_done in tests.items() if not is_done]
        )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Return the number of each test, which is the same on every worker."""
        return {test: number for number, test in enumerate(self.collection)}

    def _split_scope(self, nodeid: str) -> str:
        return place_of(nodeid)


def place_of(nodeid: str) -> str:
    """Return the place whose tests stay together with this one; alone, its own id."""
    if nodeid.startswith(FILES_OF):
        return nodeid.partition("::")[0]
    return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)
