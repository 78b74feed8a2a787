"""The bugs that can be planted in the model, one at a time; each must be found."""

from __future__ import annotations

TOKEN_UNCHECKED = "the recorder does not check the token"
EPOCH_UNCHECKED = "materialize does not check the epoch"
ACKNOWLEDGED_FIRST = "the recorder acknowledges before it commits"
SENT_FIRST = "the worker sends before it asks the start guard"
STARTED_IGNORED = "void ignores what has started"
INCARNATION_IGNORED = "the start guard ignores the incarnation"
BARRIER_IGNORED = "rescue does not wait for the outcome stream"

RUN_UNLOCKED = "an advance does not lock its run"
JUDGED_AS_BEFORE = "an advance locks and judges its run in one statement"
INBOX_FORGOTTEN = "the end of a step is not written into the inbox"
NOT_REPAIRED = "nothing advances what a crash has left in the inbox"
TAKEN_BEFORE = "an advance takes the inbox in a transaction of its own"
TAKE_IGNORED = "an advance does not check the take of an end"

PLANTED = (
    TOKEN_UNCHECKED,
    EPOCH_UNCHECKED,
    ACKNOWLEDGED_FIRST,
    SENT_FIRST,
    STARTED_IGNORED,
    INCARNATION_IGNORED,
    BARRIER_IGNORED,
)
#: Those of a run of a workflow.
PLANTED_IN_RUNS = (
    RUN_UNLOCKED,
    JUDGED_AS_BEFORE,
    INBOX_FORGOTTEN,
    NOT_REPAIRED,
    TAKEN_BEFORE,
    TAKE_IGNORED,
)
