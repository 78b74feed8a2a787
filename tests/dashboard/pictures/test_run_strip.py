from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.run_strip import BARS, RunBar, run_strip
from executions.choices import Status
from tests.dashboard.pictures.reading import (
    assert_keeps_the_rules,
    having,
    parsed,
    rows,
    texts,
)

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
TEN_DAYS = 10 * 86_400_000.0


def _bars(count: int) -> list[RunBar]:
    return [
        RunBar(Status.SUCCEEDED, AT + timedelta(minutes=n), 100.0, f"/executions/{n}")
        for n in range(count)
    ]


def _tops(markup: str) -> list[float]:
    """Return the upper end of each bar; a smaller number is a higher bar."""
    shapes = [one.get("d", "") for one in having(markup, "bar")]
    return [float(shape.split("V")[1].split("H")[0].split("L")[0]) for shape in shapes]


@pytest.mark.parametrize("count", [0, 1, 2, BARS, BARS + 5])
@pytest.mark.parametrize("compact", [True, False])
def test_strips_of_any_length_keep_the_rules(count: int, compact: bool):
    markup = run_strip(_bars(count), compact=compact)

    assert_keeps_the_rules(markup)
    assert len(having(markup, "bar")) == min(count, BARS)


def test_the_newest_run_is_last_and_older_ones_fall_off():
    markup = run_strip(_bars(BARS + 2))

    links = [one.get("href") for one in having(markup, "run")]
    assert links[0] == "/executions/2"
    assert links[-1] == f"/executions/{BARS + 1}"


def test_few_runs_stand_at_the_right_end():
    (hit,) = having(run_strip(_bars(1)), "hit")

    assert hit.get("x") == "232"


def test_a_strip_is_one_stop_for_the_keyboard():
    stops = [one.get("tabindex") for one in having(run_strip(_bars(3)), "run")]

    assert stops == ["-1", "-1", "0"]


def test_each_bar_says_what_it_is():
    bar = RunBar(Status.FAILED, AT, 1240.0, "/executions/1")

    (link,) = having(run_strip([bar]), "run")

    assert link.get("aria-label") == "failed, 2026-11-20 08:00:00 UTC, 1.24 s"
    assert link[0].text == link.get("aria-label")


def test_height_grows_with_the_logarithm_of_the_duration():
    spent = [0.0, 1.0, 100.0, 10_000.0, 600_000.0, TEN_DAYS]

    tops = _tops(run_strip([RunBar(Status.SUCCEEDED, AT, one) for one in spent]))

    assert tops == sorted(tops, reverse=True)
    assert tops[0] == tops[1] == 22
    assert tops[4] == tops[5] == 0


def test_every_state_has_its_own_shape():
    shapes = {state: having(run_strip([RunBar(state, AT, 1000.0)]), "run")[0] for state in Status}

    looks = {
        state: (shape[2].get("d"), "hollow" in shape.get("class", ""))
        for state, shape in shapes.items()
    }
    assert looks[Status.FAILED] != looks[Status.SUCCEEDED] != looks[Status.RETRYING]
    assert looks[Status.CANCELLED] != looks[Status.SKIPPED]
    assert looks[Status.SKIPPED] != looks[Status.SUCCEEDED]
    assert looks[Status.RUNNING] not in (looks[Status.SUCCEEDED], looks[Status.FAILED])


def test_the_summary_counts_by_state():
    bars = [*_bars(2), RunBar(Status.FAILED, AT, 5.0)]

    label = parsed(run_strip(bars, compact=True))[0].get("aria-label")

    assert label == "Last 3 runs: 2 succeeded, 1 failed; the newest failed."


def test_a_task_without_runs_says_so():
    assert 'aria-label="It has not run yet."' in run_strip([], compact=True)


def test_the_table_says_the_same():
    assert rows(run_strip(_bars(1))) == [["2026-11-20 08:00:00 UTC", "succeeded", "100 ms", "Open"]]


def test_a_hostile_address_stays_an_attribute():
    bar = RunBar(Status.SUCCEEDED, AT, 1.0, '/x"><script>')

    markup = run_strip([bar])

    assert "<script" not in markup
    assert having(markup, "run")[0].get("href") == '/x"><script>'


def test_bars_without_an_address_are_an_image():
    markup = run_strip([RunBar(Status.PENDING, AT)], compact=True)

    assert parsed(markup)[0].get("role") == "img"
    assert texts(markup, "run") == ["pending, 2026-11-20 08:00:00 UTC"]


def test_the_same_runs_make_the_same_picture():
    assert run_strip(_bars(7)) == run_strip(_bars(7))
