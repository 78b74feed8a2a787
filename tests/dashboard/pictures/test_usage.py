from __future__ import annotations

from datetime import date, timedelta
from uuid import UUID

import pytest

from dashboard.pictures.usage import usage_bars
from insight.statistics.usage import Usage
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows

FIRST = date(2026, 11, 1)


def _days(*counts: tuple[int, int]) -> list[Usage]:
    return [
        Usage(UUID(int=1), FIRST + timedelta(days=n), succeeded=ok, failed=bad, execution_ms=1500)
        for n, (ok, bad) in enumerate(counts)
    ]


@pytest.mark.parametrize("counts", [(), ((0, 0),), ((1, 1),), ((0, 0), (10**9, 3), (1, 0))])
def test_any_days_keep_the_rules(counts: tuple[tuple[int, int], ...]):
    assert_keeps_the_rules(usage_bars(_days(*counts)))


def test_a_day_is_a_bar_of_successes_and_failures():
    markup = usage_bars(_days((4, 1), (0, 0), (2, 0)))

    assert len(having(markup, "stack-succeeded")) == 2
    assert len(having(markup, "stack-failed")) == 1
    assert "most on 2026-11-01 with 5" in markup


def test_the_table_has_each_day_the_latest_first():
    found = rows(usage_bars(_days((4, 1), (0, 0))))

    assert [row[0] for row in found] == ["2026-11-02", "2026-11-01"]
    assert found[1][2:4] == ["4", "1"]
    assert found[1][5] == "1.5 s"
