"""The bugs that :mod:`bench.mutations` plants: each takes one guard of the core loop away.

A test holds every text to the code: where the code changes, the mutation is to be renewed.
"""

from __future__ import annotations

from bench.mutation import Edit, Mutation, one
from bench.mutation_concurrency import CONCURRENCY
from bench.mutation_dependencies import DEPENDENCIES
from bench.mutation_leases import LEASES
from bench.mutation_ledger import LEDGER
from bench.mutation_resealing import RESEALING
from bench.mutation_shares import SHARES
from bench.mutation_sharing import SHARING
from bench.mutation_workflows import WORKFLOWS

_STALE = ("tests/executions/test_transitions.py::test_a_stale_token_changes_nothing",)
_EPOCH = (
    "tests/executions/materialize/test_stage.py::test_a_stale_epoch_writes_nothing",
    "tests/executions/materialize/test_stage.py::test_a_takeover_in_the_middle_refuses_rows_and_cursor_alike",
)
_GUARD = ("tests/wire/test_start_guard.py", "tests/wire/test_start_guard_destinations.py")
_RUNNER = "tests/worker/test_runner.py"
_SILENCE = ("tests/executions/rescue/test_lost_workers.py",)
_WITHDRAWAL = ("tests/executions/changes/test_withdrawal.py",)
_TOKEN = " AND e.fencing_token = o.token"  # noqa: S105 - a text of the statements


def _unchecked(verb: str, block: str) -> Mutation:
    """Return the mutation that takes the token's check from one guarded statement."""
    edit = Edit("executions/sql/complete.sql", _TOKEN, "", f"-- name: {block}\n")
    return Mutation(f"token-{verb}", f"{verb} does not check the token", (edit,), _STALE)


def _unchecked_for(verb: str, status: str, block: str = "part: ended") -> Mutation:
    """Return the same for one of the outcomes that a statement writes."""
    edit = Edit(
        "executions/sql/complete.sql",
        _TOKEN,
        f" AND (e.fencing_token = o.token OR o.status = '{status}')",
        f"-- {block}\n",
    )
    return Mutation(f"token-{verb}", f"{verb} does not check the token", (edit,), _STALE)


_RECORDER = "executions/complete/stage.py"
_OUTBOX = "worker/outbox.py"
_KEPT = "            await asyncio.sleep(_RETRY_SECONDS)\n            return 0\n"
_DROPPED = "            del self._waiting[:count]\n            return count\n"
_SQL = "executions/sql"
_LUA = "wire/lua"
_HELD_EPOCH = "l.epoch = (%(epochs)s::bigint[])[l.partition + 1]"
_ANY_EPOCH = "(%(epochs)s::bigint[])[l.partition + 1] IS NOT NULL"

TOKENS = (
    _unchecked("start", "start"),
    _unchecked_for("succeed", "SUCCEEDED"),
    _unchecked_for("retry", "RETRYING", "name: try_again"),
    _unchecked_for("fail", "FAILED"),
    _unchecked("hand-back", "hand_back"),
    _unchecked("defer", "defer"),
    _unchecked("progress", "note_progress")._replace(
        tests=("tests/executions/complete/test_progress.py",)
    ),
    one(
        "token-cancel",
        "cancel does not check the token of released work",
        _STALE,
        f"{_SQL}/complete.sql",
        "e.status = 'QUEUED' AND e.fencing_token = o.token",
        "e.status = 'QUEUED'",
        "-- name: cancel\n",
    ),
    one(
        "token-reused",
        "a retry goes out under the token of the attempt before",
        ("tests/executions/dispatch/test_stage.py::test_tokens_rise_and_never_come_again",),
        f"{_SQL}/dispatch.sql",
        "fencing_token = nextval('execution_token_seq')",
        "fencing_token = coalesce(e.fencing_token, nextval('execution_token_seq'))",
    ),
    one(
        "outcome-twice",
        "an attempt that has ended can end again",
        (
            "tests/executions/test_transitions.py::test_one_outcome_is_recorded_per_attempt",
            "tests/executions/test_transitions.py"
            "::test_an_attempt_that_ended_in_a_retry_does_not_end_again",
        ),
        f"{_SQL}/complete.sql",
        "WHEN e.status IN ('QUEUED', 'RUNNING') THEN true",
        "WHEN true THEN true",
        "-- part: ended\n",
    ),
    one(
        "retry-twice",
        "an attempt that has ended in a retry can end in one again",
        (
            "tests/executions/test_transitions.py"
            "::test_an_attempt_that_ended_in_a_retry_does_not_end_again",
        ),
        f"{_SQL}/complete.sql",
        "WHEN e.status IN ('QUEUED', 'RUNNING') AND e.cancel_requested_at IS NULL THEN true",
        "WHEN e.cancel_requested_at IS NULL THEN true",
        "-- name: try_again\n",
    ),
)

EPOCHS = (
    one(
        "epoch-plan",
        "materialize plans under an epoch that is over",
        _EPOCH,
        f"{_SQL}/materialize.sql",
        _HELD_EPOCH,
        _ANY_EPOCH,
        "-- name: lock_due_tasks\n",
    ),
    one(
        "epoch-plain",
        "plain tasks are prepared under an epoch that is over",
        ("tests/executions/materialize/test_plain.py::test_a_stale_epoch_takes_nothing",),
        f"{_SQL}/materialize.sql",
        _HELD_EPOCH,
        _ANY_EPOCH,
        "-- name: take_plain\n",
    ),
    one(
        "epoch-insert",
        "materialize inserts under an epoch that is over",
        _EPOCH,
        f"{_SQL}/materialize.sql",
        _HELD_EPOCH,
        _ANY_EPOCH,
        "-- name: insert_open\n",
    ),
    one(
        "epoch-skip",
        "materialize writes a skipped instant under an epoch that is over",
        ("tests/executions/materialize/test_instants.py",),
        f"{_SQL}/materialize.sql",
        _HELD_EPOCH,
        _ANY_EPOCH,
        "-- name: insert_unstarted\n",
    ),
    one(
        "epoch-advance",
        "materialize moves the cursor under an epoch that is over",
        _EPOCH,
        f"{_SQL}/materialize.sql",
        _HELD_EPOCH,
        _ANY_EPOCH,
        "-- name: advance_cursors\n",
    ),
    one(
        "epoch-take",
        "materialize takes a cursor under an epoch that is over",
        _EPOCH,
        f"{_SQL}/materialize.sql",
        _HELD_EPOCH,
        _ANY_EPOCH,
        "-- name: take_cursors\n",
    ),
)

STREAM = (
    Mutation(
        "acknowledged-first",
        "the recorder acknowledges before it commits",
        (
            Edit(
                _RECORDER,
                "self.stream.acknowledge([entry for entry in entries if entry not in late])",
                "pass",
            ),
            Edit(
                _RECORDER,
                "        said = [list(_understood(",
                "        self.stream.acknowledge(entries)\n        said = [list(_understood(",
            ),
        ),
        (
            "tests/executions/complete/test_stage.py::test_nothing_is_acknowledged_when_the_database_is_away",
        ),
    ),
    Mutation(
        "outcome-dropped",
        "the worker forgets an outcome before Redis has it",
        (Edit(_OUTBOX, _KEPT, _DROPPED),),
        ("tests/worker/test_outbox.py",),
    ),
    one(
        "barrier-silence",
        "rescue takes a silent worker's work before its last words are recorded",
        _SILENCE,
        "executions/rescue/lost_workers.py",
        "if stream_position.recorded(barrier):",
        "if barrier:",
    ),
    one(
        "barrier-lease",
        "rescue takes work whose lease is over while recorders are behind",
        _SILENCE,
        "executions/rescue/lost_workers.py",
        "if stream_position.recorded(self._barrier[0]):",
        "if self._barrier:",
    ),
    one(
        "barrier-pending",
        "what a recorder has read counts as recorded",
        ("tests/executions/rescue/test_stream_position.py",),
        "executions/rescue/stream_position.py",
        "return oldest is None or _position(oldest) > wanted",
        "return True",
    ),
    one(
        "wake-before-commit",
        "schedulers are woken before the commit",
        ("tests/shared/test_notify.py",),
        "shared/notify.py",
        "transaction.on_commit(lambda: _send(Wake(within, first)), robust=True)",
        "_send(Wake(within, first))",
    ),
    one(
        "abort-before-commit",
        "workers are told to abort before the commit",
        ("tests/executions/loop/test_control.py",),
        "executions/loop/control.py",
        "transaction.on_commit(lambda: _send(message))",
        "_send(message)",
    ),
)

START_GUARD = (
    one(
        "asking-no-sign-of-life",
        "a worker that starts work before its next beat is taken for lost",
        ("tests/executions/rescue/test_lost_workers.py",),
        f"{_LUA}/start.lua",
        "redis.call('ZADD', 'punctual:workers', 'XX', 'GT', ",
        "redis.call('ZADD', 'punctual:workers', 'XX', 'LT', ",
    ),
    one(
        "sent-first",
        "the worker sends before it asks the start guard",
        (f"{_RUNNER}::test_what_the_guard_refuses_is_not_sent",),
        "worker/runner.py",
        "            verdicts = await self._verdicts(incarnation, group)\n",
        "            began = self._clock.now()\n"
        "            for held in group:\n"
        "                self._judge(held, start_guard.GO, began)\n"
        "            await self._verdicts(incarnation, group)\n"
        "            self._asking -= len(group)\n"
        "            continue\n",
    ),
    one(
        "sent-early",
        "work that the start guard allowed a moment ahead is sent before its time",
        (_RUNNER,),
        "worker/entries.py",
        "while (early := self.held.due - now()) > 0:",
        "while (early := self.held.due - now()) > 60:",
    ),
    one(
        "mark-not-written",
        "the start guard allows a start and writes no mark",
        _GUARD,
        f"{_LUA}/start.lua",
        "redis.call('SET', key, mark, 'NX', 'EX', MARKED) or",
        "not redis.call('GET', key) or",
    ),
    one(
        "mark-not-written-limited",
        "the same for a destination with limits",
        _GUARD,
        f"{_LUA}/start.lua",
        "  redis.call('SET', key, mark, 'EX', MARKED)\n",
        "",
    ),
    one(
        "copies-start",
        "a second copy of a message starts in the same worker",
        _GUARD,
        f"{_LUA}/start.lua",
        "'s:' .. ARGV[2] .. '#' .. ARGV[i + 2]",
        "'s:' .. ARGV[2]",
    ),
    one(
        "incarnation-ignored",
        "the start guard ignores the incarnation",
        _GUARD,
        f"{_LUA}/start.lua",
        "redis.call('GET', KEYS[1]) == ARGV[1]",
        "true",
    ),
    one(
        "incarnation-stays",
        "a restarted Redis keeps its incarnation",
        _GUARD,
        "wire/start_guard.py",
        'if found and found.decode().startswith(f"{run_id}:"):',
        "if found:",
    ),
    one(
        "started-ignored",
        "void overwrites the mark of what has started",
        _GUARD,
        f"{_LUA}/void.lua",
        "if mark and string.sub(mark, 1, 2) == 's:' then",
        "if false then",
    ),
    one(
        "started-ignored-by-edits",
        "edit and pause take back what has started",
        _WITHDRAWAL,
        "executions/changes/withdrawal.py",
        "for row, by in pairs if not by]",
        "for row, by in pairs]",
    ),
    one(
        "started-ignored-by-cancel",
        "cancel ends what has started as if it had not",
        ("tests/executions/changes/test_cancellation.py",),
        "executions/changes/cancellation.py",
        "strict=True) if by]",
        "strict=True) if not by]",
    ),
    one(
        "started-ignored-by-rescue",
        "rescue takes back released work that has started",
        (
            "tests/executions/rescue/test_stage.py::test_released_work_that_has_started_counts_as_running",
        ),
        "executions/rescue/stage.py",
        "for row, by in pairs if not by]",
        "for row, by in pairs]",
    ),
    one(
        "started-ignored-by-dispatch",
        "dispatch takes back what has started although its message seemed lost",
        (
            "tests/executions/dispatch/test_stage.py::test_what_has_started_nevertheless_stays_with_its_worker",
        ),
        "executions/dispatch/sending.py",
        "for row, by in pairs if not by]",
        "for row, by in pairs]",
    ),
    one(
        "not-voided",
        "edit and pause change released work without asking the guard",
        _WITHDRAWAL,
        "executions/changes/withdrawal.py",
        "holders = start_guard.void([row.token for row in queued if row.token is not None])",
        'holders = ["" for _ in queued]',
    ),
)

MUTATIONS = (
    *TOKENS,
    *EPOCHS,
    *LEASES,
    *STREAM,
    *START_GUARD,
    *LEDGER,
    *DEPENDENCIES,
    *CONCURRENCY,
    *WORKFLOWS,
    *RESEALING,
    *SHARES,
    *SHARING,
)
