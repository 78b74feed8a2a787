"""Every number on these pages is recounted from the code that it tells of."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from dashboard import context
from executions.bulk import canary, steps
from executions.complete import outcome_stream
from executions.housekeeping import worker_history
from executions.models.minute_stat import START_DELAY_BUCKETS_MS
from insight.forecast import hour
from insight.statistics import history, minutes, present
from notifications import claims, consumers, incidents
from notifications.services import deliveries
from scheduler_site import settings as shipped
from shared.conf import conf
from tests.architecture import tree

_NUMBER = re.compile(r"(?<![\w./-])\d[\d,]*(?:\.\d+)?(?![\w./-]*\.md)")
#: What is no claim: names, links, states of HTTP, and items of a list.
_SPARED = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\bp\d\d\b|\b503\b|^\d+\. ", re.MULTILINE)


def _seconds(length: timedelta) -> float:
    return length.total_seconds()


_MS = [edge for edge in START_DELAY_BUCKETS_MS if edge < 1000]
_S = [edge / 1000 for edge in START_DELAY_BUCKETS_MS if edge >= 1000]
#: Page -> the words around its numbers, and what they are in the code.
CLAIMS: dict[str, list[tuple[str, list[float]]]] = {
    "overview": [
        (r"instants of the next (\d+) s", [conf().horizon_seconds]),
        (r"executions due within (\d+) s", [conf().release_seconds]),
        (r"up to (\d+) in a message", [conf().message_executions]),
    ],
    "card": [],
    "doors": [],
    "tasks": [],
    "workers": [],
    "core-loop": [
        (r"within (\d+) s \|", [conf().horizon_seconds]),
        (r"due within (\d+) s \|", [conf().release_seconds]),
        (r"up to (\d+) s ahead", [conf().horizon_seconds]),
        (r"message of up to (\d+) executions", [conf().message_executions]),
        (r"when the lease ends \((\d+) s\)", [shipped.PUNCTUAL.partition_lease_seconds]),
        (r"after (\d+) s of silence", [shipped.PUNCTUAL.worker_lost_seconds]),
        (r"takes its entries after (\d+) s", [outcome_stream._CLAIM_AFTER_MS / 1000]),
    ],
    "bulk-jobs": [
        (r"a batch of (\d+) or", [steps._BATCH]),
        (r"up to (\d+) or one second", [steps._CHUNK]),
        (r"latest ([\d,]+) results", [canary._WINDOW]),
    ],
    "statistics": [
        (
            r"buckets of (\d+(?:, \d+)*) ms, (\d+(?:, \d+)*) s and above",
            [*_MS, *_S],
        ),
        (
            r"more than (\d+) s above all bounds \(the API answers ([\d,]+) then",
            [START_DELAY_BUCKETS_MS[-1] / 1000, START_DELAY_BUCKETS_MS[-1]],
        ),
        (r"the minute under way and the (\d+) before it", [minutes.MINUTES - 1]),
        (r"up to ([\d,]+) open rows", [present._SCAN]),
        (r"up to ([\d,]+), then \"at least\"", [present.MOST_COUNTED]),
        (r"navigation up to (\d+)", [context._BADGE_LIMIT]),
        (r"the minute under way and the (\d+) that follow", [hour.MINUTES - 1]),
        (r"Of more than ([\d,]+) tasks that start in the hour", [hour.MOST_TASKS]),
        (r"some of the (\d+) partitions", [hour._PARTITIONS]),
        (r"Of more than (\d+) tasks, kept for a minute", [hour._AT_ONCE]),
        (r"newest ([\d,]+) open and ([\d,]+) resolved", [history._LETTERS] * 2),
        (r"kept for (\d+) days", [worker_history.HOURS_KEPT.days]),
    ],
    "live-and-alerts": [
        (r"(\d+\.\d+) s later", [_seconds(incidents.GATHER)]),
        (r"compare-and-set for (\d+) s", [_seconds(claims.CLAIM_FOR)]),
        (r"claim expires after (\d+) s", [_seconds(claims.CLAIM_FOR)]),
        (r"woken again every (\d+) s", [_seconds(deliveries._WOKEN_FOR)]),
        (r"closes its sockets with (\d+)", [consumers.MISSED]),
        (
            r"again after (\d+) s, twice as long each time up to (\d+) min, given up after (\d+) h",
            [
                claims._FIRST_RETRY_SECONDS,
                claims._LONGEST_RETRY_SECONDS / 60,
                _seconds(claims.GIVE_UP_AFTER) / 3600,
            ],
        ),
    ],
}


def _text(page: str) -> str:
    path = tree.REPOSITORY / "docs" / "architecture" / f"{page}.md"
    return " ".join(_SPARED.sub(" ", path.read_text(encoding="utf-8")).split())


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(text)]


@pytest.mark.parametrize("page", CLAIMS)
def test_a_number_of_a_page_is_the_one_of_the_code(page: str) -> None:
    text = _text(page)

    for words, values in CLAIMS[page]:
        found = re.search(words, text)
        assert found, f"{page}: nothing says {words!r}"
        assert _numbers(" ".join(found.groups())) == values, found[0]


@pytest.mark.parametrize("page", CLAIMS)
def test_no_number_of_a_page_goes_without_a_recount(page: str) -> None:
    text = _text(page)
    for words, _ in CLAIMS[page]:
        text = re.sub(words, "", text)

    assert _numbers(text) == [], f"{page}: give these a claim: {_NUMBER.findall(text)}"
