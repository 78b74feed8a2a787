"""A tenant's rotated data key seals its values anew, killed twice in the middle, beside live calls.

An installation of its own gets values of one tenant by SQL: answers of attempts. Its data key is
rotated, ``manage.py keys reseal`` is killed by SIGKILL at a third and at two thirds, and then runs
to its end. Meanwhile a task is created and read every second. The former key is retired, and every
value opens. Run: ``python -m bench.reseal --start`` (``--rows 20000`` for a try).
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from bench import command_line, installation, report
from bench.installation import CHECKOUT, Installation, InstallationError
from bench.members import Member, enter, make_member
from operations.proof.percentiles import distribution

_AT_ONCE = 1000
_LOOK_SECONDS = 0.2
#: A process may seal under a former key for this long, and `retire` refuses until then.
_OVERLAP_SECONDS = 25.0

#: Exit code of a command that has done a part.
_PARTIAL = 6
_ANSWER = {"headers": [], "body": "b2s=" * 50, "truncated": False, "address": "192.0.2.1"}
_ROWS = """
INSERT INTO attempts (id, execution_id, tenant_id, number, fencing_token, worker, outcome,
    error_code, error_message, timings, sealed_response)
SELECT id, id, %(tenant)s, 1, 1, 'bench', 'SUCCEEDED', '', '', '{}', sealed
FROM unnest(%(ids)s::uuid[], %(sealed)s::bytea[]) AS r (id, sealed)
"""


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=command_line.above_zero, default=1_000_000)
    parser.add_argument("--kills", type=int, default=2, help="how often the pass is killed")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


@dataclass(slots=True)
class Beside:
    """Creates and reads a task every second, as the tenant does meanwhile."""

    base_url: str
    key: str
    milliseconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Beside:
        """Begin in a thread."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(1.0):
            begun = time.perf_counter()
            try:
                made = self._call("POST", "/v1/tasks", _task())
                self._call("GET", f"/v1/tasks/{made['id']}", None)
            except OSError as error:
                self.failures.append(str(error))
            else:
                self.milliseconds.append(1000 * (time.perf_counter() - begun))

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        address = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        connection.request(
            method,
            path,
            body=None if body is None else json.dumps(body),
            headers={
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
                "Idempotency-Key": str(uuid4()),
            },
        )
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise OSError(f"{path} answered {answer.status}: {text[:200]!r}")
        return json.loads(text)


def _task() -> dict[str, Any]:
    """Return a task that is due long after the report."""
    later = datetime.now(UTC) + timedelta(days=2)
    return {
        "name": "beside",
        "schedule": {"run_at": later.isoformat()},
        "target": {"url": "https://api.example.com/"},
        "payload": {"n": 1},
    }


def measure(product: Installation, chosen: argparse.Namespace) -> int:
    """Fill, rotate, seal anew with kills, retire, read all; publish; 1 where a promise broke."""
    enter(product)
    member = make_member()
    ids = _fill(member.tenant_id, chosen.rows)
    _rotate(member.tenant_id)
    begun = time.perf_counter()
    kills: list[int] = []
    with Beside(product.base_url, member.api_key) as beside:
        for number in range(chosen.kills):
            kills.append(_killed_at(product, member, chosen.rows * (number + 1) // 3))
        _finish(product, member)
        seconds = time.perf_counter() - begun
    _retire(product, member.tenant_id)
    closed = _unreadable(member.tenant_id, ids)
    return publish(chosen, kills, seconds, beside, closed)


def publish(
    chosen: argparse.Namespace, kills: list[int], seconds: float, beside: Beside, closed: int
) -> int:
    """Publish what was found."""
    passed = not closed and not beside.failures
    calls = distribution(beside.milliseconds)
    lines = [
        f"{chosen.rows} values sealed anew in {seconds:.1f} s, "
        f"{chosen.rows / seconds:.0f} a second",
        f"killed at {', '.join(map(str, kills)) or 'no'} values; continued each time",
        f"a task created and read meanwhile: {calls}; {len(beside.failures)} calls failed",
        *sorted(set(beside.failures)),
        f"the former key is retired; {closed} values do not open",
        "PASSED" if passed else "FAILED",
    ]
    figures = {
        "rows": chosen.rows,
        "seconds": round(seconds, 1),
        "killed_at": kills,
        "calls_ms": calls.as_json(),
        "calls_failed": len(beside.failures),
        "unreadable": closed,
        "passed": passed,
    }
    report.publish("reseal", figures, lines, chosen)
    return 0 if passed else 1


def _fill(tenant_id: UUID, count: int) -> list[UUID]:
    """Store the answers of attempts, sealed under the tenant's key; return their ids."""
    from django.db import connection

    from shared.encryption import seal_json
    from shared.ids import new_id
    from shared.sealing_contexts import response_context

    made: list[UUID] = []
    while len(made) < count:
        ids = [new_id() for _ in range(min(_AT_ONCE, count - len(made)))]
        sealed = [seal_json(_ANSWER, response_context(tenant_id, one)) for one in ids]
        with connection.cursor() as cursor:
            cursor.execute(_ROWS, {"tenant": tenant_id, "ids": ids, "sealed": sealed})
        made += ids
    return made


def _rotate(tenant_id: UUID) -> None:
    # Not by the command, which lets the system worker do the pass: this report kills it.
    from shared.actor import COMMAND
    from tenants.services.data_keys import rotate_data_key

    rotate_data_key(tenant_id, actor=COMMAND)


def _killed_at(product: Installation, member: Member, wanted: int) -> int:
    """Begin a pass, kill it once it has sealed ``wanted`` values anew; return how many it had."""
    pass_ = subprocess.Popen(
        _command("reseal", "--tenant", str(member.tenant_id)),
        cwd=CHECKOUT,
        env=product.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    never = threading.Event()
    while (done := _sealed(member.tenant_id)) < wanted:
        if pass_.poll() is not None:
            raise InstallationError("the pass ended before it could be killed; give more --rows")
        print(f"{done} values", file=sys.stderr)
        never.wait(_LOOK_SECONDS)
    pass_.kill()
    pass_.wait()
    return _sealed(member.tenant_id)


def _finish(product: Installation, member: Member) -> None:
    while True:
        done = _run(product, "reseal", "--tenant", str(member.tenant_id))
        if done.returncode == 0:
            return
        if done.returncode != _PARTIAL:
            raise InstallationError(f"keys reseal failed: {done.stderr[-500:]}")


def _retire(product: Installation, tenant_id: UUID) -> None:
    from tenants.models import DataKey

    threading.Event().wait(_OVERLAP_SECONDS)
    former = DataKey.objects.filter(tenant_id=tenant_id).exclude(replaced_at=None).get()
    done = _run(product, "retire", str(former.id))
    if done.returncode != 0:
        raise InstallationError(f"keys retire failed: {done.stderr[-500:]}")


def _sealed(tenant_id: UUID) -> int:
    from tenants.models import Resealing

    found: int = Resealing.objects.filter(tenant_id=tenant_id).latest("begun_at").sealed
    return found


def _unreadable(tenant_id: UUID, ids: list[UUID]) -> int:
    """Return how many of the values do not open now."""
    from executions.models import Attempt
    from shared.data_keys import forget_all
    from shared.encryption import DecryptionFailed, open_json
    from shared.sealing_contexts import response_context

    forget_all()
    closed = 0
    for at in range(0, len(ids), _AT_ONCE):
        part = ids[at : at + _AT_ONCE]
        # Ids that one process makes within a millisecond have no order.
        rows = Attempt.objects.filter(execution_id__in=part, id__gte=min(part), id__lte=max(part))
        found = dict(rows.values_list("id", "sealed_response"))
        for one in part:
            try:
                answer = open_json(bytes(found[one] or b""), response_context(tenant_id, one))
                closed += answer != _ANSWER
            except (DecryptionFailed, KeyError):
                closed += 1
    return closed


def _run(product: Installation, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(*words),
        cwd=CHECKOUT,
        env=product.environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _command(*words: str) -> list[str]:
    return [sys.executable, "manage.py", "keys", *words, "--yes", "--json"]


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
