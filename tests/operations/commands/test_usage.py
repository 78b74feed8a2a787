from __future__ import annotations

import csv

import pytest

from tenants.models import Tenant
from tests.factories import make_execution
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_every_tenants_usage_is_one_line_per_day(alpha: Tenant, beta: Tenant):
    make_execution(alpha, "SUCCEEDED")
    make_execution(beta, "FAILED")

    document = read_document("usage", call("usage", "--json").out)

    shown = {one["name"]: one["total"] for one in document["tenants"]}
    assert shown[alpha.name]["executions_succeeded"] == 1
    assert shown[beta.name]["executions_failed"] == 1
    assert [len(one["days"]) for one in document["tenants"]] == [1, 1]


def test_one_tenant_is_shown_alone(alpha: Tenant, beta: Tenant):
    make_execution(alpha, "SUCCEEDED")
    make_execution(beta, "FAILED")

    said = call("usage", "--tenant", beta.name)

    assert beta.name in said.out
    assert alpha.name not in said.out


def test_csv_names_the_tenant_on_each_line(alpha: Tenant):
    make_execution(alpha, "SUCCEEDED")

    (line,) = csv.DictReader(call("usage", "--csv").out.splitlines())

    assert (line["tenant_id"], line["tenant"]) == (str(alpha.id), alpha.name)
    assert (line["executions_succeeded"], line["attempts"]) == ("1", "1")


@pytest.mark.parametrize(
    "words",
    [
        ("--since", "yesterday"),
        ("--until", "2026-02-30"),
        ("--since", "2026-02-02", "--until", "2026-02-01"),
        ("--since", "2020-01-01", "--until", "2026-01-01"),
    ],
)
def test_wrong_days_are_wrong_use(words: tuple[str, ...]):
    said = call("usage", *words)

    assert said.code == 2
    assert said.err
    assert not said.out


def test_an_unknown_tenant_is_not_found(alpha: Tenant):
    assert call("usage", "--tenant", "nobody").code == 3
