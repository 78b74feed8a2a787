"""Every stored secret has a test that follows it out of the process: a new column needs one."""

from __future__ import annotations

from tests.support.secret_columns import secret_columns

#: Column -> the canary that tests/end_to_end/test_canaries.py plants for it.
FOLLOWED = {
    "api_keys.key_hash": "API key",
    "attempts.sealed_response": "result",
    "data_keys.wrapped": "encryption_keys",
    "dead_letters.sealed_payload": "payload",
    "django_session.session_data": "session",
    "django_session.session_key": "session",
    "executions.sealed_payload": "payload",
    "executions.sealed_result": "result",
    "invitations.token_hash": "invitation token",
    "named_secrets.sealed": "named secret",
    "second_factors.sealed_secret": "TOTP seed",
    "signing_secrets.sealed": "signing secret",
    "task_revisions.sealed": "payload, header, password, environment",
}
#: Column -> where it is followed instead, or why it is no secret.
ELSEWHERE = {
    "alert_channels.sealed_url": "tests/access/test_api_access.py",
    "audit_chains.hash": "a keyed hash of the last entry",
    "audit_entries.hash": "a keyed hash of the entry",
    "auth_user.password": "a hash; tests/dashboard/views/test_account.py",
    "calendar_feeds.token_hash": "a hash; tests/dashboard/views/test_calendar_feeds.py",
    "bulk_jobs.sealed_payload": "tests/executions/bulk/test_jobs.py",
    "dead_letters.sealed_edit": "tests/access/test_payload_sight.py",
    "ended_workflow_runs.sealed_input": "tests/access/test_payload_sight.py",
    "ended_workflow_runs.states": "states of steps, a byte each",
    "ended_workflow_runs.takes": "takes of steps, a byte each",
    "event_subscriptions.sealed_url": "tests/access/test_api_access.py",
    "executions.sealed_progress": "tests/access/test_payload_sight.py",
    "idempotency_records.fingerprint": "a hash of the call; tests/api/test_idempotency.py",
    "idempotency_records.key": "the caller's name of the call",
    "idempotency_records.sealed_body": "tests/api/test_idempotency.py",
    "push_subscriptions.endpoint": "in rows of earlier versions, until it is sealed",
    "push_subscriptions.sealed_endpoint": "tests/access/test_api_access.py",
    "push_subscriptions.sealed_auth": "tests/access/test_api_access.py",
    "recovery_codes.code_hash": "a hash; tests/tenants/services/test_second_factors.py",
    "workflow_runs.sealed_input": "tests/access/test_payload_sight.py",
    "workflow_runs.states": "states of steps, a byte each",
    "workflow_runs.takes": "takes of steps, a byte each",
    "workflow_steps.sealed_output": "tests/access/test_payload_sight.py",
}


def test_every_column_that_holds_a_secret_is_followed_or_says_where():
    assert FOLLOWED.keys() & ELSEWHERE.keys() == set()
    assert secret_columns() == FOLLOWED.keys() | ELSEWHERE.keys()
