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
from insight import run_waits
from insight.forecast import hour
from insight.statistics import history, minutes, present
from notifications import claims, consumers, incidents
from notifications.services import deliveries
from scheduler_site import settings as shipped
from shared.conf import conf
from tasks import limits
from tasks.validation import input_schema
from tasks.workflow import expressions, references
from tests.architecture import tree
from workflows import deadlines, retrying
from workflows.advance import children, outputs

_NUMBER = re.compile(r"(?<![\w./-])\d[\d,]*(?:\.\d+)?(?![\w./-]*\.md)")
#: What is no claim: names, links, states of HTTP, and items of a list.
_SPARED = re.compile(
    r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\bp\d\d\b|\b(?:202|409|503)\b|^\d+\. ", re.MULTILINE
)


_DAY = 24 * 3600
#: Signals are deleted by a statement with its own interval.
_SIGNAL_HOURS: list[float] = [
    24 * int(days)
    for days in re.findall(
        r"WHERE s\.at < clock_timestamp\(\) - interval '(\d+) day'",
        (tree.REPOSITORY / "workflows/sql/workflow_signals.sql").read_text(encoding="utf-8"),
    )
]


def _seconds(length: timedelta) -> float:
    return length.total_seconds()


_MS = [edge for edge in START_DELAY_BUCKETS_MS if edge < 1000]
_S = [edge / 1000 for edge in START_DELAY_BUCKETS_MS if edge >= 1000]
#: Page -> the words around its numbers, and what they are in the code. A page of architecture/
#: has its bare name.
CLAIMS: dict[str, list[tuple[str, list[float]]]] = {
    "howto/run-a-workflow": [],
    "howto/mend-a-failed-run": [],
    "howto/approve-a-step": [],
    "howto/compensate": [],
    "howto/fan-out": [
        (r"At most ([\d,]+) items", [limits.FAN_OUT_ITEMS]),
        (
            r"one time: (\d+) unless given, at most (\d+)",
            [limits.PARALLEL_ITEMS, limits.MOST_PARALLEL_ITEMS],
        ),
        (r"must succeed, (\d+) unless", [1]),
        (r"more than (\d+) MiB", [outputs.MOST_BYTES_OF_FAN / 2**20]),
    ],
    "howto/deadlines-of-workflows": [
        (
            r"deadline: (\d+) days after its begin, .* of at most (\d+) days",
            [deadlines.RUN_SECONDS / _DAY, limits.RUNTIME_SECONDS / _DAY],
        ),
        (r"in a backfill, has (\d+) days", [deadlines.RUN_SECONDS / _DAY]),
    ],
    "howto/wait-for-events": [
        (r"kept for (\d+) hours", _SIGNAL_HOURS),
        (r"at most (\d+) days", [limits.RUNTIME_SECONDS / _DAY]),
    ],
    "reference/workflows": [
        (r"Required; (\d+) to ([\d,]+)", [1, limits.STEPS]),
        (r"of at most (\d+) KiB; without", [input_schema.LONGEST / 1024]),
        (
            r"each run: (\d+) days unless given, (\d+) at most",
            [deadlines.RUN_SECONDS / _DAY, limits.RUNTIME_SECONDS / _DAY],
        ),
        (r"of at most (\d+) letters", [limits.STEP_KEY_LENGTH]),
        (r"waits for, at most (\d+)", [limits.STEP_DEPENDENCIES]),
        (r"at most (\d+) deep in each other", [children.DEEPEST]),
        (r"Waits, at most (\d+) days", [limits.RUNTIME_SECONDS / _DAY]),
        (r"has at most (\d+) entries", [run_waits.MOST_WAITS]),
        (r"kept for (\d+) hours", _SIGNAL_HOURS),
        (
            r"at most ([\d,]+) items, (\d+) at one time unless given, at most (\d+)",
            [limits.FAN_OUT_ITEMS, limits.PARALLEL_ITEMS, limits.MOST_PARALLEL_ITEMS],
        ),
        (r"its number from (\d+)", [0]),
        (r"A name has at most (\d+) characters", [references.LONGEST_NAME]),
        (
            r"of at most ([\d,]+) characters, nested at most (\d+) deep",
            [expressions.LONGEST, expressions._DEEPEST],
        ),
        (
            r"at most (\d+) KiB as JSON; the .* together at most ([\d,]+) KiB.*sends has at most "
            r"(\d+) KiB",
            [
                outputs.MOST_BYTES / 1024,
                outputs.MOST_BYTES_OF_FAN / 1024,
                outputs.MOST_BYTES / 1024,
            ],
        ),
        (r"of its own; (\d+) takes at most", [retrying.MOST_TAKES]),
        (r"or has more than (\d+) KiB", [outputs.MOST_BYTES / 1024]),
        (
            r"made more than (\d+) KiB of what it sends, or more than ([\d,]+) KiB of its items",
            [outputs.MOST_BYTES / 1024, outputs.MOST_BYTES_OF_FAN / 1024],
        ),
        (r"of a run has at most (\d+) entries", [run_waits.MOST_WAITS]),
        (r"have at most ([\d,]+) KiB\.", [outputs.MOST_BYTES_OF_FAN / 1024]),
    ],
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
    folder = "" if "/" in page else "architecture/"
    path = tree.REPOSITORY / "docs" / f"{folder}{page}.md"
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
