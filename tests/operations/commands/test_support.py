"""``manage.py support bundle``: facts and verdicts, no evidence, nothing of a tenant."""

from __future__ import annotations

import pytest

from operations.doctor.finding import bad, good
from operations.management.commands import support
from tests.factories import daily, make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _findings(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [good("database", "canary-evidence"), bad("clocks", "canary-host", "canary-remedy")]
    monkeypatch.setattr(support, "examine", lambda: iter(found))


def test_the_bundle_has_the_verdicts_and_no_evidence(alpha):
    make_task(alpha, daily(name="canary-task"))

    said = call("support", "bundle", "--json")

    document = read_document("support-bundle", said.out)
    assert document["checks"] == [
        {"check": "database", "verdict": "ok"},
        {"check": "clocks", "verdict": "failed"},
    ]
    assert "canary" not in said.out
    assert str(alpha.id) not in said.out


def test_the_summary_names_what_is_wrong_and_how_to_get_the_whole():
    said = call("support", "bundle")

    assert "punctual" in said.out
    assert "clocks                 failed" in said.out
    assert "--json > FILE" in said.err
    assert "canary" not in said.out
