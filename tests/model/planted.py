"""The bugs that can be planted in the model, one at a time; each must be found."""

from __future__ import annotations

TOKEN_UNCHECKED = "the recorder does not check the token"
EPOCH_UNCHECKED = "materialize does not check the epoch"
ACKNOWLEDGED_FIRST = "the recorder acknowledges before it commits"
SENT_FIRST = "the worker sends before it asks the start guard"
STARTED_IGNORED = "void ignores what has started"
INCARNATION_IGNORED = "the start guard ignores the incarnation"
BARRIER_IGNORED = "rescue does not wait for the outcome stream"

PLANTED = (
    TOKEN_UNCHECKED,
    EPOCH_UNCHECKED,
    ACKNOWLEDGED_FIRST,
    SENT_FIRST,
    STARTED_IGNORED,
    INCARNATION_IGNORED,
    BARRIER_IGNORED,
)
