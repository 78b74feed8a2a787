from __future__ import annotations

import pytest

from executions.dead_letters.letters import archive_dead_letter
from executions.models import BulkJob, DeadLetter
from operations.bulk import runs
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.operations.commands.letters_of import make_letters, states, work_while_waiting
from tests.support.command_calls import call, type_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def letters(alpha: Tenant) -> list[DeadLetter]:
    return make_letters(alpha, 2)


def test_on_a_terminal_a_few_want_a_yes(letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch):
    work_while_waiting(monkeypatch)

    type_in(monkeypatch, "n\n")
    assert call("dlq", "archive", "--all").code == 1
    type_in(monkeypatch, "y\n")
    said = call("dlq", "archive", "--all", "--quiet")

    assert said.code == 0
    # Quiet leaves out hints, not what is asked about.
    assert said.err.startswith("2 dead letters, oldest ")
    assert states(letters) == ["archived", "archived"]


def test_a_purge_and_very_many_want_the_count(
    letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
):
    work_while_waiting(monkeypatch)
    monkeypatch.setattr(runs, "TYPED_FROM", 2)

    for verb in ("purge", "archive"):
        type_in(monkeypatch, "y\n")
        assert call("dlq", verb, "--all").code == 1
    type_in(monkeypatch, "2\n")
    assert call("dlq", "purge", "--all").code == 0

    assert not DeadLetter.objects.exists()


def test_an_interruption_leaves_the_job_running_and_says_how_to_follow(
    letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
):
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_pause", interrupt)

    said = call("dlq", "retry", "--all", "--yes")

    job = BulkJob.objects.get()
    assert (said.code, job.status) == (130, "PENDING")
    assert f"manage.py bulk show {job.id} --follow" in said.err
    assert f"manage.py bulk cancel {job.id}" in said.err


def test_detached_it_returns_at_once(letters: list[DeadLetter]):
    said = call("dlq", "retry", "--all", "--yes", "--detach", "--rate", "60/m", "--canary", "1")

    job = BulkJob.objects.get()
    assert (said.code, said.out) == (0, f"bulk job {job.id}\n")
    assert job.options == {"rate_per_second": 1.0, "canary": 1}


def test_without_a_system_worker_it_says_so_and_waits_no_longer_than_told(
    letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
):
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("operations.bulk.runs.time.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(runs, "_pause", lambda: None)

    said = call("dlq", "retry", "--all", "--yes", "--wait", "20")

    assert said.code == 7
    assert said.err.count("No system worker has taken it yet") == 1
    assert "The job has not ended yet." in said.err


def test_what_was_closed_meanwhile_is_skipped_and_failures_are_told(
    alpha: Tenant, letters: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
):
    work_while_waiting(monkeypatch)
    work = runs._pause

    def another_operator_first() -> None:
        DeadLetter.objects.get(pk=letters[0].id, resolved=False)
        archive_dead_letter(alpha.id, letters[0].id, note="", actor=ACTOR)
        monkeypatch.setattr(runs, "_pause", work)
        work()

    monkeypatch.setattr(runs, "_pause", another_operator_first)

    said = call("dlq", "retry", "--all", "--yes")

    told = "done 1, skipped 1, failed 0; of the executions made: pending 1\n"
    assert (said.code, said.out) == (0, told)


@pytest.mark.parametrize(
    ("status", "done", "failed", "code"),
    [
        ("COMPLETED", 2, 0, 0),
        ("COMPLETED", 1, 1, 6),
        ("COMPLETED", 0, 2, 1),
        ("STOPPED", 1, 1, 6),
        ("CANCELLED", 0, 0, 1),
    ],
)
def test_the_exit_code_says_how_much_was_done(status: str, done: int, failed: int, code: int):
    class Command:
        left = 0

        def leave(self, code: int) -> None:
            self.left = code

    command = Command()
    job = BulkJob(status=status, done_count=done, failed_count=failed, total=2)

    runs.leave_by_result(command, job)  # type: ignore[arg-type]  # has what is called

    assert command.left == code
