"""The reference page of an execution's states, rendered from the table of moves.

``docs/reference/states.md`` is this text; a test compares the two.
"""

from __future__ import annotations

from executions.choices import FINAL, Status
from executions.states import MOVES

_MEANINGS = {
    Status.PENDING: "In the ledger; waits for its time, for its turn, or for a worker.",
    Status.QUEUED: "Handed to a worker under a fencing token and a lease.",
    Status.RUNNING: "An attempt has begun, with a worker, or at a receiver that answered 202.",
    Status.RETRYING: "An attempt failed; waits for the next one.",
    Status.SUCCEEDED: "An attempt succeeded.",
    Status.FAILED: "Failed for good; there is a dead letter.",
    Status.CANCELLED: "Cancelled by a person or with its task.",
    Status.SKIPPED: "Did not run; the reason says why.",
}


def render_states() -> str:
    """Return the page as Markdown: what each state means, and every allowed move."""
    return "\n".join([_HEAD, *_states(), "", _MOVES_HEAD, *_moves(), ""])


_HEAD = """# States of an execution

Written from `executions/states.py`; a test holds this page to it. An execution begins as PENDING,
or as SKIPPED when its instant does not run, or as FAILED when a task that it depends on has failed
and its `on_dependency_failure` is `fail`. A final state is never left.

| State | Final | Meaning |
|---|---|---|"""
_MOVES_HEAD = """## Moves

The verbs are functions of `executions/transitions.py`; the four that end an attempt are one,
`finish`. `mark_leased` is `mark_queued` for workers that lease over the API, and the first
`heartbeat` of an execution without a recorded start is its `mark_running`. A move is guarded in its
statement: where the states or the fencing token differ, nothing changes. The event is written in
the same transaction.

| Verb | From | To | Guard | Event |
|---|---|---|---|---|"""


def _states() -> list[str]:
    return [
        f"| {state} | {'yes' if state in FINAL else 'no'} | {meaning} |"
        for state, meaning in _MEANINGS.items()
    ]


def _moves() -> list[str]:
    return [
        f"| `{move.verb}` | {', '.join(move.sources)} | {move.target} | {move.guard} "
        f"| `{move.event}` |"
        for move in MOVES
    ]
