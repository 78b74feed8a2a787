from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.pictures.run_grid import GridRun, GridStep, run_grid
from dashboard.state_vocabulary import STEP_LOOKS, look_of
from tests.architecture.tree import REPOSITORY
from tests.dashboard.pictures.reading import parsed, rows

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def test_a_row_is_a_step_and_a_column_a_run():
    runs = [GridRun("SUCCEEDED", AT, "/1"), GridRun("FAILED", AT, "/2")]
    steps = [GridStep("a", "#a", ["SUCCEEDED", "FAILED"]), GridStep("b", "#b", [None, "SKIPPED"])]

    markup = run_grid(runs, steps)

    assert rows(markup) == [
        ["a", "succeeded", "failed"],
        ["b", "not part of this run", "skipped"],
    ]
    links = [one.get("href") for one in parsed(markup).iter("a")]
    assert links == ["/1", "/2", "#a", "#b"]


def test_the_head_names_state_and_time_of_each_run():
    markup = run_grid([GridRun("FAILED", AT, "/1")], [GridStep("a", "#a", ["FAILED"])])

    [run] = [one for one in parsed(markup).iter("a") if one.get("href") == "/1"]
    assert "failed, 2026-11-20 08:00:00" in "".join(run.itertext())


@pytest.mark.parametrize("state", sorted(STEP_LOOKS))
def test_every_state_has_a_sign_of_its_own_beside_its_colour(state: str):
    css = (REPOSITORY / "static/css/workflows.css").read_text(encoding="utf-8")
    signs = {
        name: css.split(f"td.state-{name}::before")[1].split('content: "')[1][0]
        for name in {look.name for look in STEP_LOOKS.values()} - {"pending"}
    }

    assert len(set(signs.values())) == len(signs)
    assert look_of(state).name in {*signs, "pending"}
