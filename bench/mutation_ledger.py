"""Bugs of claims, cursors, and the two parts of the ledger; see :mod:`bench.mutation_list`."""

from __future__ import annotations

from bench.mutation import Edit, Mutation, one

_CURSORS = "tests/concurrency/test_cursor_race.py"
_PARTS = "tests/concurrency/test_parts_race.py"
_SQL = "executions/sql"
_MATERIALIZE = f"{_SQL}/materialize.sql"
_CURSOR_MOVED = (
    "tests/executions/materialize/test_stage.py::test_an_edit_that_moved_the_cursor_meanwhile_wins"
)
_LOOKS = "tests/executions/loop/test_looks.py"

LEDGER = (
    one(
        "claimed-twice",
        "two schedulers may claim the same work",
        ("tests/concurrency/test_dispatch_race.py",),
        f"{_SQL}/dispatch.sql",
        "            FOR NO KEY UPDATE SKIP LOCKED\n        ) AS f\n        LIMIT v.most",
        "        ) AS f\n        LIMIT v.most",
    ),
    Mutation(
        "cursor-unchecked",
        "materialize moves a cursor that an edit has moved",
        # Each condition alone keeps it: another version has another place.
        (
            Edit(_MATERIALIZE, "k.next_run_at = p.cursor AND ", "", "-- name: advance_cursors"),
            Edit(
                _MATERIALIZE,
                " AND k.ctid = ANY(%(places)s::text[]::tid[])",
                "",
                "-- name: advance_cursors",
            ),
        ),
        (_CURSOR_MOVED,),
    ),
    Mutation(
        "cursor-taken-unchecked",
        "materialize takes the cursor of a one-time task that an edit has moved",
        # Each condition alone keeps it: another version has another place.
        (
            Edit(_MATERIALIZE, "k.next_run_at = p.cursor AND ", "", "-- name: take_cursors"),
            Edit(
                _MATERIALIZE,
                " AND k.ctid = ANY(%(places)s::text[]::tid[])",
                "",
                "-- name: take_cursors",
            ),
        ),
        (_CURSOR_MOVED,),
    ),
    one(
        "cursor-not-held",
        "the cursor of a task that a pause holds stays due",
        ("tests/concurrency/test_pairs.py",),
        "tasks/sql/transitions.sql",
        "    UPDATE task_cursors k SET held = true WHERE k.task_id = ANY(%(tasks)s)\n",
        "    SELECT 1\n",
    ),
    one(
        "plain-after-pause",
        "what a pause decides about runs as if there had been none",
        ("tests/executions/materialize/test_plain.py",),
        "tasks/sql/transitions.sql",
        "SET execution_id = NULL,\n        held = EXISTS",
        "SET\n        held = EXISTS",
    ),
    one(
        "plain-after-outage",
        "what an outage decides about runs as if there had been none",
        ("tests/executions/materialize/test_plain.py",),
        "executions/materialize/unowned_work.py",
        "    plain.plan_until({p: stretch.until for p, stretch in found.items()})\n",
        "",
    ),
    one(
        "settled-beside-cursor",
        "an end closes a task that has got another instant meanwhile",
        (_CURSORS,),
        f"{_SQL}/complete.sql",
        "    ORDER BY t.id FOR NO KEY UPDATE\n)",
        "    ORDER BY t.id\n)",
        "-- name: lock_tasks\n",
    ),
    one(
        "ended-beside-cursor",
        "a task that has got another instant meanwhile is taken to be at its end",
        (_CURSORS,),
        "executions/ledger/settling.py",
        '    run("complete/lock_tasks", {"task_ids": task_ids})\n',
        "",
    ),
    one(
        "begun-beside-cursor",
        "a one-time task that has got another instant meanwhile is RUNNING and never due",
        (_CURSORS,),
        "executions/ledger/settling.py",
        '[row[0] for row in rows("complete/lock_one_time_tasks", {"task_ids": task_ids})]',
        "task_ids",
    ),
    one(
        "locked-and-joined",
        "a change goes on with the cursor as it was before it waited for the task",
        (_CURSORS,),
        "tasks/querysets.py",
        'alone = self.select_related(None).order_by("id")\n'
        '        return alone.select_for_update(no_key=True).prefetch_related("cursor")',
        'return self.order_by("id").select_for_update(no_key=True, of=("self",))',
    ),
    one(
        "ended-again",
        "an instant that ended while its row was prepared again is open beside its end",
        (_PARTS,),
        "executions/materialize/instants.py",
        'if met := {row[0] for row in rows("materialize/already_ended", look)}:',
        "if met := set():",
    ),
    one(
        "skipped-beside-open",
        "an instant that is open is skipped as well",
        (_PARTS,),
        f"{_SQL}/materialize.sql",
        "o WHERE o.id NOT IN (SELECT k.id FROM known k)\n",
        "o\n",
        "-- name: insert_unstarted\n",
    ),
    one(
        "cancel-tried-again",
        "what is asked to be cancelled is tried again",
        (_PARTS,),
        f"{_SQL}/complete.sql",
        " AND e.cancel_requested_at IS NULL THEN true",
        " THEN true",
    ),
    one(
        "ended-before-open",
        "a change looks for an execution among the ended first, and misses one that ends meanwhile",
        (_PARTS,),
        "executions/querysets.py",
        "few.filter(status__in=sorted(FINAL))",
        "few.none()",
    ),
    one(
        "hidden-below",
        "what is written below where the last look ended is never looked for",
        (_LOOKS,),
        "executions/loop/lower_bounds.py",
        "not self.known or self.next_in:",
        "not self.known or self.in_force:",
    ),
    one(
        "forgotten-below",
        "what is asked anew while looks are dear is looked for above the bounds alone",
        ("tests/executions/loop/test_lower_bounds.py",),
        "executions/loop/lower_bounds.py",
        "self._hurried, self._next_at = True, 0.0",
        "pass",
    ),
    one(
        "given-up-below",
        "a part that was given up is left out",
        ("tests/executions/loop/test_lower_bounds.py",),
        "executions/loop/lower_bounds.py",
        "self._part = (begin, begin)",
        "self._part = (begin, self._part[1])",
    ),
    one(
        "unheard-below",
        "what wakes a scheduler is looked for only behind where its last look ended",
        ("tests/executions/test_beat.py",),
        "executions/loop/lower_bounds.py",
        "self.lower(self.now - _RECENT)",
        "pass",
    ),
    one(
        "oldest-first",
        "a cursor is read from its oldest version on while an open transaction keeps all of them",
        ("tests/executions/ledger/test_settling.py",),
        "executions/sql/complete.sql",
        "ORDER BY c.next_run_at DESC LIMIT 1",
        "ORDER BY c.next_run_at LIMIT 1",
    ),
    one(
        "chain-forks",
        "two changes follow the same entry of the audit log",
        ("tests/concurrency/test_audit_race.py",),
        "events/audit/writing.py",
        "(*events, lock, begin,",
        "(*events, begin,",
    ),
)
