"""Product code stores and compares moments of the database, not those of its own host."""

from __future__ import annotations

import re

from tests.architecture import tree

_HOST_CLOCK = re.compile(
    r"(?<!database_)\b(?:timezone|clock)\.now\(|datetime\.(?:now|utcnow)\(|\btime\.time\("
)
#: Where the host's own clock is meant, and why.
_MEANT = {
    "api/protocol/middleware.py": "begin and end of a span, which its sender measures",
    "dashboard/templatetags/console.py": "how far away a moment is, for a person to read",
    "delivery/retry_after.py": "a date in an answer from outside",
    "delivery/tls.py": "a certificate is valid by the clock of the host that uses it",
    "events/audit/writing.py": "a setter of the database's clock must not make entries old",
    "executions/celery_tasks.py": "the same",
    "executions/complete/outcome_stream.py": "a note beside what could not be read",
    "launcher/management/commands/ps.py": "processes of this host",
    "launcher/strikes.py": "processes of this host",
    "launcher/supervised_process.py": "processes of this host",
    "notifications/transports/mail_files.py": "the name of a file",
    "notifications/transports/vapid.py": "a token for outside",
    "operations/doctor/runtime.py": "it measures how far clocks are apart",
    "operations/proof/campaign.py": "it waits on this host",
    "operations/schedules/preview.py": "a preview without a database",
    "operations/storm/ground.py": "files of this host",
    "shared/clock_watch.py": "it measures how far clocks are apart",
    "shared/ids.py": "ids sort by the time of their making, and bound nothing by it",
}
_ELSEWHERE = ("tests/", "bench/", "docs/", ".venv/")


def test_the_hosts_clock_is_read_where_it_is_meant_only():
    found = set()
    for path in tree.REPOSITORY.rglob("*.py"):
        name = path.relative_to(tree.REPOSITORY).as_posix()
        if not name.startswith(_ELSEWHERE) and _HOST_CLOCK.search(path.read_text()):
            found.add(name)

    assert found == set(_MEANT)


def test_the_rule_finds_each_way_to_read_it():
    for bad in ("timezone.now()", "clock.now()", "datetime.now(UTC)", "time.time()"):
        assert _HOST_CLOCK.search(f"moment = {bad}")
    for good in ("database_clock.now()", "database_now()", "monotonic()"):
        assert not _HOST_CLOCK.search(f"moment = {good}")
