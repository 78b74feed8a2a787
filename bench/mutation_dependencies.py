"""The bugs that :mod:`bench.mutations` plants in the wait of one task for another."""

from __future__ import annotations

from bench.mutation import one

_STAGE = "tests/executions/dependencies/test_stage.py"
_RACE = "tests/concurrency/test_dependency_race.py"
_SQL = "tasks/sql/dependencies.sql"
_MARKED = (
    "WHERE l.prerequisite_id = ANY(ARRAY(SELECT task_id FROM ended WHERE status <> 'RETRYING'))"
)

DEPENDENCIES = (
    one(
        "dependencies-unmarked",
        "the end of a task forgets the tasks that wait for it",
        (_STAGE,),
        "tasks/sql/transitions.sql",
        _MARKED,
        f"{_MARKED} AND false",
        "-- name: settle\n",
    ),
    one(
        "dependencies-new-unmarked",
        "a new task that waits is judged only when a prerequisite moves",
        (_RACE,),
        _SQL,
        "on_failure, clock_timestamp() FROM given",
        "on_failure, NULL FROM given",
    ),
    one(
        "dependencies-unlocked",
        "a prerequisite may end between its judgement and the commit of that",
        (_RACE,),
        _SQL,
        "ORDER BY t.id FOR SHARE SKIP LOCKED",
        "ORDER BY t.id",
    ),
    one(
        "dependencies-early",
        "a failure is decided before the time until which it can be mended",
        (_STAGE,),
        "tasks/dependencies.py",
        "return hopeless and not self.paused and self.at <= now",
        "return hopeless and not self.paused",
    ),
    one(
        "dependencies-resumed",
        "a resume ends the wait for other tasks",
        (_STAGE,),
        "tasks/sql/transitions.sql",
        "held = EXISTS (SELECT FROM task_dependencies d WHERE d.task_id = k.task_id)",
        "held = false",
    ),
    one(
        "dependencies-foreign",
        "a scheduler that has lost the partition ends the wait nevertheless",
        (_STAGE,),
        "executions/dependencies/stage.py",
        "        raise _NotOurs\n",
        "        pass\n",
    ),
    one(
        "dependencies-graph",
        "two edits at once make a cycle",
        (_RACE,),
        "tasks/dependencies.py",
        '    run("dependencies/lock_graph", {"tenant": str(task.tenant_id)})\n',
        "",
    ),
)
