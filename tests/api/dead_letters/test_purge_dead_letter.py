from __future__ import annotations

from uuid import UUID

from executions.models import DeadLetter, Execution
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.factories import ApiClient, make_dead_letter


def url(letter_id: UUID) -> str:
    return f"/v1/dlq/{letter_id}"


def test_a_purged_letter_is_gone_and_stays_in_the_audit_log(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    answer = client.delete(url(letter.id))

    assert (answer.status_code, answer.content) == (204, b"")
    assert problem(client.get(url(letter.id))) == (404, "not_found")
    assert Execution.objects.get(pk=letter.execution_id).status == "FAILED"
    noted = audited(letter.id, "dead_letter.purged")
    assert noted["before"] == {
        "execution_id": str(letter.execution_id),
        "error_signature": "http_status:500",
    }


def test_a_resolved_letter_is_purged_as_well(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)
    client.post(f"{url(letter.id)}/resolve")

    assert client.delete(url(letter.id)).status_code == 204


def test_the_same_key_gives_the_first_answer_again(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    first = client.delete(url(letter.id), idempotency_key="1")
    second = client.delete(url(letter.id), idempotency_key="1")

    assert (first.status_code, second.status_code) == (204, 204)
    assert second["Idempotent-Replayed"] == "true"
    assert problem(client.delete(url(letter.id))) == (404, "not_found")


def test_a_letter_has_no_version_that_could_match(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert problem(client.delete(url(letter.id), if_match='"1"')) == (412, "version_mismatch")
    assert problem(client.delete(url(letter.id), if_match="x")) == (400, "invalid")
    assert DeadLetter.objects.exists()
    assert client.delete(url(letter.id), if_match="*").status_code == 204
