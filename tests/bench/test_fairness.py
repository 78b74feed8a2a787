from __future__ import annotations

import pytest

from bench import fairness, report
from bench.fairness import PARTS, kept, options


def test_a_delay_may_rise_by_fifty_milliseconds():
    assert kept({"alone": 20.0, "flood": 69.0, "hanging": 70.0})
    assert not kept({"alone": 20.0, "flood": 71.0})


def test_all_parts_run_unless_some_are_named():
    assert options([]).only == list(PARTS) == ["weights", "beside", "priority"]
    assert options(["--only", "weights"]).only == ["weights"]


@pytest.mark.parametrize(("missed", "code"), [(None, 0), ("weights", 1), ("priority", 1)])
def test_one_missed_part_fails_the_report(
    missed: str | None, code: int, monkeypatch: pytest.MonkeyPatch
):
    told: list[dict[str, object]] = []
    parts = {name: lambda *_, name=name: ({"name": name}, name != missed) for name in PARTS}
    monkeypatch.setattr(fairness, "PARTS", parts)
    monkeypatch.setattr(fairness, "enter", lambda _: None)
    monkeypatch.setattr(report, "publish", lambda _, figures, *__: told.append(figures))

    assert fairness.measure(None, options([])) == code  # type: ignore[arg-type]  # not used

    assert told[0]["passed"] is (code == 0)
    assert told[0]["weights"] == {"name": "weights", "passed": missed != "weights"}
