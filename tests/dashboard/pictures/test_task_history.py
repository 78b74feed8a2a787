from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.task_history import percentile_bars, share_text, success_bars
from insight.statistics.of_task import Figures, Part, Percentiles, TaskHistory
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts

AT = datetime(2026, 11, 20, 8, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _figures(succeeded: int, failed: int, p50: float | None = None, p95: float | None = None):
    spent = Percentiles(p50, p95)
    return Figures(succeeded + failed, succeeded, failed, spent, spent)


def _history(*parts: Figures, total: Figures | None = None) -> TaskHistory:
    shown = [Part(AT + number * HOUR, one) for number, one in enumerate(parts)]
    return TaskHistory("24h", AT, AT, AT + len(parts) * HOUR, True, 3600, total or parts[0], shown)


@pytest.mark.parametrize(
    "history",
    [
        _history(Figures()),
        _history(_figures(1, 0, 0.0, 0.0)),
        _history(_figures(0, 1, 5, 5), Figures(), _figures(10**6, 1, 0.02, 9_000_000)),
    ],
    ids=["nothing", "one", "extreme"],
)
def test_any_history_keeps_the_rules(history: TaskHistory):
    assert_keeps_the_rules(success_bars(history))
    for kind in ("duration", "start_delay"):
        assert_keeps_the_rules(percentile_bars(history, kind))


def test_one_failure_of_a_million_is_seen_and_says_what_it_is():
    markup = success_bars(_history(_figures(10**6, 1)))

    [failed] = having(markup, "stack-failed")
    assert float(failed.get("height", "0")) == 4
    assert "99.9 %, 1,000,000 succeeded, 1 failed" in markup
    assert "99.9 % of 1,000,001 executions succeeded since 2026-11-20 08:00 UTC" in markup


def test_a_part_without_a_result_has_no_bar_and_no_row():
    markup = success_bars(_history(_figures(3, 0), Figures(), _figures(1, 1)))

    assert len(having(markup, "stack-succeeded")) == 2
    assert [row[0] for row in rows(markup)] == ["2026-11-20 10:00 UTC", "2026-11-20 08:00 UTC"]


def test_percentiles_are_a_bar_from_the_middle_to_p95():
    markup = percentile_bars(_history(_figures(3, 0, 20, 60), _figures(3, 0, 40, 80)), "duration")

    tops = [float(one.get("y", "0")) for one in having(markup, "range")]
    assert tops[1] < tops[0]
    assert "half at most 20 ms, 95 % at most 60 ms" in markup
    assert rows(markup)[0] == ["2026-11-20 09:00 UTC", "40 ms", "80 ms"]
    assert texts(markup, "tick")[:3] == ["0 ms", "40 ms", "80 ms"]


def test_where_one_value_dwarfs_the_rest_the_scale_is_logarithmic_and_says_so():
    markup = percentile_bars(
        _history(_figures(3, 0, 20, 60), _figures(3, 0, 20, 30_000)), "start_delay"
    )

    assert "the scale is logarithmic" in markup
    heights = [float(one.get("height", "0")) for one in having(markup, "range")]
    assert heights[0] > 10


@pytest.mark.parametrize(
    ("share", "text"), [(None, "–"), (1.0, "100 %"), (0.99999, "99.9 %"), (0.5, "50 %")]
)
def test_a_share_is_never_rounded_up_to_all(share: float | None, text: str):
    assert share_text(share) == text
