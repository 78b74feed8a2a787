"""Every column that holds sealed values, and the context of each: what a new key seals anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shared import sealing_contexts as contexts
from workflows import sealed as of_runs


class Column(NamedTuple):
    """A column with sealed values.

    ``keys`` find the row, by an index; ``parts`` are the columns that make the context.
    """

    table: str
    name: str
    keys: tuple[str, ...]
    parts: tuple[str, ...]
    context: Callable[..., bytes]

    def context_of(self, parts: tuple[Any, ...]) -> bytes:
        """Return the context of a value, from what its row has in ``parts``."""
        return self.context(*parts)


_ID = ("id",)
_RUN = ("run_id",)
_STEP = ("run_id", "step")
_EXECUTION = ("execution_id",)


def _of_executions(table: str) -> tuple[Column, ...]:
    return (
        Column(table, "sealed_payload", _ID, _ID, contexts.payload_context),
        Column(table, "sealed_progress", _ID, _ID, contexts.progress_context),
        Column(table, "sealed_result", _ID, _ID, contexts.result_context),
    )


_WORKFLOWS = (
    Column("workflow_runs", "sealed_input", _ID, _ID, of_runs.input_context),
    Column("ended_workflow_runs", "sealed_input", ("id", "take"), _ID, of_runs.input_context),
    Column(
        "workflow_steps", "sealed_output", _ID, (*_STEP, "item", "take"), of_runs.output_context
    ),
    Column("workflow_fans", "sealed_items", _STEP, _STEP, of_runs.items_context),
    Column("workflow_signals", "sealed_payload", _ID, _ID, of_runs.signal_context),
    Column("workflow_retries", "sealed", _RUN, _RUN, of_runs.retry_context),
)

#: A test compares them with the tables.
COLUMNS: tuple[Column, ...] = (
    Column("task_revisions", "sealed", _ID, ("task_id", "version"), contexts.revision_context),
    *_of_executions("open_executions"),
    *_of_executions("ended_executions"),
    Column(
        "attempts", "sealed_response", ("execution_id", "id"), _EXECUTION, contexts.response_context
    ),
    Column("dead_letters", "sealed_payload", _ID, _EXECUTION, contexts.payload_context),
    Column("dead_letters", "sealed_edit", _ID, _EXECUTION, contexts.payload_context),
    Column("bulk_jobs", "sealed_payload", _ID, _ID, contexts.bulk_payload_context),
    *_WORKFLOWS,
    Column("signing_secrets", "sealed", _ID, ("tenant_id",), contexts.signing_secret_context),
    Column("push_subscriptions", "sealed_auth", _ID, _ID, contexts.push_subscription_context),
    Column(
        "idempotency_records",
        "sealed_body",
        _ID,
        ("tenant_id", "key"),
        contexts.idempotency_context,
    ),
)
