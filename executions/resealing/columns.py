"""Every column that holds sealed values, and the context of each: what a new key seals anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

from shared import sealing_contexts as contexts
from shared.sealing_contexts import Context


class Owner(NamedTuple):
    """Where the tenant of a row is: a column of its own, or of the row that a column points to."""

    column: str = "tenant_id"
    table: str | None = None


class Column(NamedTuple):
    """A column with sealed values.

    ``keys`` find the row, by an index; ``parts`` are the columns that make the context, after the
    tenant. Without an ``owner`` the deployment's key seals.
    """

    table: str
    name: str
    keys: tuple[str, ...]
    parts: tuple[str, ...]
    context: Callable[..., Context]
    owner: Owner | None = Owner()

    @property
    def title(self) -> str:
        """Return its name with the one of its table."""
        return f"{self.table}.{self.name}"

    def context_of(self, tenant_id: UUID | None, parts: tuple[Any, ...]) -> Context:
        """Return the context of a value, from the tenant and what its row has in ``parts``."""
        return self.context(*parts) if self.owner is None else self.context(tenant_id, *parts)


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
    Column("workflow_runs", "sealed_input", _ID, _ID, contexts.input_context),
    Column("ended_workflow_runs", "sealed_input", ("id", "take"), _ID, contexts.input_context),
    Column(
        "workflow_steps", "sealed_output", _ID, (*_STEP, "item", "take"), contexts.output_context
    ),
    Column(
        "workflow_fans",
        "sealed_items",
        _STEP,
        _STEP,
        contexts.items_context,
        Owner("run_id", "workflow_runs"),
    ),
    Column("workflow_signals", "sealed_payload", _ID, _ID, contexts.signal_context),
    Column("workflow_retries", "sealed", _RUN, _RUN, contexts.retry_context),
)

#: A test compares them with the tables. The wrapped data keys are not among them: rotating the
#: master key wraps them anew.
COLUMNS: tuple[Column, ...] = (
    Column(
        "task_revisions",
        "sealed",
        _ID,
        ("task_id", "version"),
        contexts.revision_context,
        Owner("task_id", "tasks"),
    ),
    *_of_executions("open_executions"),
    *_of_executions("ended_executions"),
    Column(
        "attempts", "sealed_response", ("execution_id", "id"), _EXECUTION, contexts.response_context
    ),
    Column("dead_letters", "sealed_payload", _ID, _EXECUTION, contexts.payload_context),
    Column("dead_letters", "sealed_edit", _ID, _EXECUTION, contexts.payload_context),
    Column("bulk_jobs", "sealed_payload", _ID, _ID, contexts.bulk_payload_context),
    *_WORKFLOWS,
    Column("named_secrets", "sealed", _ID, ("name",), contexts.named_secret_context),
    Column("signing_secrets", "sealed", _ID, (), contexts.signing_secret_context),
    Column(
        "second_factors",
        "sealed_secret",
        ("user_id",),
        ("user_id",),
        contexts.second_factor_context,
        None,
    ),
    Column(
        "push_subscriptions",
        "sealed_auth",
        _ID,
        _ID,
        contexts.push_subscription_context,
        Owner("membership_id", "memberships"),
    ),
    Column("alert_channels", "sealed_url", _ID, _ID, contexts.alert_channel_context),
    Column(
        "push_subscriptions",
        "sealed_endpoint",
        _ID,
        _ID,
        contexts.push_endpoint_context,
        Owner("membership_id", "memberships"),
    ),
    Column("event_subscriptions", "sealed_url", _ID, _ID, contexts.event_subscription_context),
    Column("idempotency_records", "sealed_body", _ID, ("key",), contexts.idempotency_context),
)
