"""The bugs that :mod:`bench.mutations` plants in runs of workflows."""

from __future__ import annotations

from bench.mutation import one

_RACE = "tests/concurrency/test_workflow_race.py"
_FAULTS = "tests/workflows/test_faults.py"
_SIGNALS = "tests/concurrency/test_signal_race.py"
_STAGES = "tests/workflows/test_stages.py"
_WAITS = f"{_RACE}::test_an_advance_that_waits_for_another_sees_what_that_has_written"
_CONTROL = "tests/workflows/test_control.py"
_HANDING_ON = "tests/executions/dispatch/test_handing_on.py"
_PLACES = "tests/workflows/advance/test_handing_on.py"
_PAUSED_CHILDREN = "tests/workflows/test_pausing_children.py"
_PAUSING = "executions/sql/pausing.sql"
_CHILDREN = "tests/workflows/advance/test_children.py"
_RUNS = "workflows/sql/workflow_runs.sql"
_ENDS = "workflows/sql/workflow_ends.sql"
_READING = "workflows/advance/reading.py"
_RUN = "workflows/advance/run.py"
_OF_A_RUN = "WHERE run_id IS NOT NULL"
_OF_GONE = "WHERE (e).run_id IS NOT NULL"
_RELEASED = f"{_FAULTS}::test_a_step_that_ends_without_having_done_its_work_releases_what_waits"

WORKFLOWS = (
    one(
        "run-unlocked",
        "two advances change a run at one time",
        (_WAITS,),
        _RUNS,
        "ORDER BY r.id FOR NO KEY UPDATE",
        "ORDER BY r.id",
        "-- name: lock\n",
    ),
    one(
        "run-judged-as-before-its-lock",
        "an advance judges a run as it was before it waited for its lock",
        (_WAITS,),
        _READING,
        "locked, read = together(*asked)",
        "read, locked = together(*reversed(asked))",
    ),
    one(
        "inbox-forgotten",
        "the end of a step is not written into the inbox of its run",
        (f"{_FAULTS}::test_two_ends_in_one_batch_start_their_join_once",),
        "executions/sql/complete.sql",
        _OF_A_RUN,
        f"{_OF_A_RUN} AND false",
        "-- name: finish\n",
    ),
    one(
        "inbox-forgotten-by-cancel",
        "the cancel of a step is not written into the inbox of its run",
        (_RELEASED,),
        "executions/sql/complete.sql",
        _OF_GONE,
        f"{_OF_GONE} AND false",
        "-- name: cancel\n",
    ),
    one(
        "inbox-forgotten-by-skip",
        "the skip of a step at the gate is not written into the inbox of its run",
        (_RELEASED,),
        "executions/sql/gate.sql",
        _OF_GONE,
        f"{_OF_GONE} AND false",
        "-- name: skip\n",
    ),
    one(
        "inbox-not-repaired",
        "what a process that died has left in the inbox is never applied",
        (f"{_STAGES}::test_an_end_that_no_process_advanced_is_repaired_after_a_second",),
        _ENDS,
        "interval '1 second'",
        "interval '1 second' AND false",
        "-- name: left_behind\n",
    ),
    one(
        "advanced-before-commit",
        "the transaction that ends a step advances the run itself",
        (f"{_RACE}::test_an_end_waits_for_no_run",),
        "executions/run_signals.py",
        "transaction.on_commit(lambda: runs_told.send(sender=None, runs=runs), robust=True)",
        "partial(runs_told.send, sender=None, runs=runs)()",
    ),
    one(
        "take-ignored",
        "the end of an earlier take ends the step of this one",
        (f"{_FAULTS}::test_a_zombie_of_an_earlier_take_changes_nothing",),
        _RUN,
        "if told.take != self.takes[step] or step not in self.plan.steps:",
        "if step not in self.plan.steps:",
    ),
    one(
        "fan-out-judged-early",
        "a fan-out ends when all items that have begun have ended",
        (f"{_FAULTS}::test_nothing_behind_a_fan_out_is_judged_before_all_its_items_have_begun",),
        "tasks/workflow/fans.py",
        "if self.ended >= self.total:",
        "if self.ended >= self.begun:",
    ),
    one(
        "window-ignored",
        "a fan-out begins all its items at once",
        ("tests/workflows/advance/test_begins.py::test_a_fan_out_goes_through_its_window",),
        "tasks/workflow/fans.py",
        "count = max(0, min(most, room, self.total - self.begun))",
        "count = max(0, min(most, self.total - self.begun))",
    ),
    one(
        "cancel-leaves-steps",
        "a cancel of a run leaves out the steps that have not begun",
        (f"{_FAULTS}::test_a_cancelled_run_leaks_no_step_whatever_its_steps_do",),
        _RUN,
        "if number not in steps or StepState(self.states[number]) in ENDED:",
        "if number not in steps or self.states[number] != StepState.OPEN:",
    ),
    one(
        "paused-run-begins",
        "a run that is paused begins other steps",
        (f"{_CONTROL}::test_a_paused_run_begins_nothing_until_it_is_resumed",),
        _RUN,
        "while self.phase in (RunPhase.RUNNING, RunPhase.FAILING):",
        "while self.phase in (RunPhase.RUNNING, RunPhase.FAILING, RunPhase.PAUSED):",
    ),
    one(
        "paused-run-begins-children",
        "a run that a step of a paused run has asked for begins",
        (f"{_PAUSED_CHILDREN}::test_a_child_that_has_not_begun_waits_for_the_resume",),
        _PAUSING,
        "  AND (e.revision >= 1610612736 OR e.status = 'PENDING')\n",
        "  AND e.revision >= 1610612736\n",
        "-- name: lock_steps_to_hold\n",
    ),
    one(
        "paused-child-freed-by-its-workflow",
        "a resume of a workflow frees a run that waits for a paused one",
        (f"{_PAUSED_CHILDREN}::test_a_resume_of_its_workflow_frees_no_child_of_a_paused_run",),
        "executions/sql/changing.sql",
        "OR e.held AND (e.reason = 'run_paused'\n",
        "OR e.held AND (false\n",
        "-- name: hold\n",
    ),
    one(
        "paused-run-undone",
        "a paused run that has failed is undone",
        (
            "tests/workflows/test_pausing.py::test_a_failure_within_a_pause_is_undone_after_the_resume",
        ),
        _RUN,
        "undoes = self.phase == RunPhase.PAUSED and self.plan.compensates",
        "undoes = False",
    ),
    one(
        "run-begun-twice",
        "two schedulers begin one run",
        (f"{_RACE}::test_two_schedulers_begin_a_run_once",),
        _RUNS,
        "    FOR NO KEY UPDATE SKIP LOCKED\n",
        "",
        "-- name: begin\n",
    ),
    one(
        "retry-runs-all",
        "a retry runs again what has succeeded",
        (f"{_FAULTS}::test_a_retry_runs_no_succeeded_step_and_makes_no_second_graph",),
        "workflows/retrying.py",
        "if number not in before.steps or old[number] != StepState.SUCCEEDED",
        "if number in plan.steps",
    ),
    one(
        "child-end-untold",
        "the end of a run does not end the step that it is of",
        (f"{_CHILDREN}::test_a_step_runs_a_workflow_and_has_the_outputs_of_its_last_steps",),
        _ENDS,
        "WHERE (d.e).step IS NOT NULL\n)",
        "WHERE false\n)",
        "-- name: end_runs\n",
    ),
    one(
        "waiter-unlocked",
        "a signal does not wait for the step that begins to wait for it",
        (_SIGNALS,),
        "workflows/advance/writing.py",
        "        own_names([(row.tenant_id, ",
        "        list([(row.tenant_id, ",
    ),
    one(
        "signal-unlocked",
        "a step that begins to wait does not wait for the signal that is being sent",
        (_SIGNALS,),
        "workflows/signals.py",
        "    own_names([(tenant_id, name, correlation)])\n",
        "",
    ),
    one(
        "step-hands-on-what-is-on-hold",
        "a step that is on hold starts in the place of the one before it",
        (f"{_HANDING_ON}::test_what_something_keeps_back_is_left_to_dispatch",),
        "executions/sql/dispatch.sql",
        "AND NOT e.held AND NOT e.parked",
        "AND NOT e.parked",
        "-- part: without_limits\n",
    ),
    one(
        "step-overtakes-what-waits",
        "a step starts before work that waits for its destination",
        (f"{_HANDING_ON}::test_what_waits_for_a_destination_is_not_overtaken",),
        "executions/sql/dispatch.sql",
        "NOT w.held AND w.parked",
        "NOT w.held AND w.parked AND false",
        "-- part: without_limits\n",
    ),
    one(
        "step-overtakes-in-a-full-pool",
        "a step starts before due work that waits for the capacity of its pool",
        (f"{_HANDING_ON}::test_there_is_no_chance_where_due_work_waits_for_capacity",),
        "executions/dispatch/handing_on.py",
        "scarcity.without(self._with_workers())",
        "frozenset(self._with_workers())",
    ),
    one(
        "one-place-for-many-steps",
        "more steps start at once than have ended",
        (f"{_PLACES}::test_as_many_steps_as_have_ended_take_a_place_urgent_ones_first",),
        "workflows/advance/handing_on.py",
        "            left[call.pool] -= 1\n",
        "",
    ),
    one(
        "sent-before-it-is-committed",
        "workers get a step of a transaction that rolls back",
        (f"{_HANDING_ON}::test_a_rollback_publishes_nothing",),
        "executions/dispatch/handing_on.py",
        "            transaction.on_commit(partial(self._send, queue, batch, chance))",
        "            self._send(queue, batch, chance)",
    ),
)
