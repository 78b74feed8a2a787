from __future__ import annotations

import pytest

from bench.at_rest_reader import Backlogs

NAMED = "oldest 300 s: pid 7, at-rest-reader, idle in transaction"


def backlogs(*beside: float, seconds: float = 300.0, said: str = NAMED) -> Backlogs:
    return Backlogs(20_000, [1000.0], list(beside), seconds, "warning", said)


@pytest.mark.parametrize(("last", "faults"), [(800.0, 0), (799.0, 1)])
def test_the_last_backlog_may_be_slower_by_a_fifth(last, faults):
    found = backlogs(1000.0, 500.0, last)

    assert len(found.faults()) == faults
    assert found.last_to_first == last / 1000
    assert any(line.endswith("missed") for line in found.lines()) is bool(faults)


@pytest.mark.parametrize(
    ("seconds", "said", "faults"),
    [
        (300.0, "oldest 0.1 s", 1),
        (300.0, NAMED, 0),
        # Too young to be worth a word.
        (50.0, "oldest 50.0 s", 0),
    ],
)
def test_the_doctor_has_to_name_an_old_transaction(seconds, said, faults):
    assert len(backlogs(1000.0, 1000.0, seconds=seconds, said=said).faults()) == faults


def test_every_backlog_is_listed_and_stored():
    found = backlogs(1000.0, 900.0)

    assert found.lines()[1] == "beside a transaction, 300 s in the end: 1000, 900"
    assert found.as_json()["beside"] == [1000.0, 900.0]
    assert found.as_json()["last_to_first"] == 0.9
