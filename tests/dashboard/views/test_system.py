"""The page of the installation is for operators, and its bundle has nothing of a tenant."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.models import UnownedStretch
from executions.ownership.partitions import Partitions
from shared.conf import conf
from tests.support.beats import beat, silence
from tests.support.closed_redis import closed_redis

PATH, BUNDLE = "/system", "/system/support-bundle.json"


@pytest.fixture
def operator(browser, alpha):
    """Return the browser of a member who operates the installation, too."""
    ledger.ensure_days_ahead(database_now())
    client = browser(alpha, role="viewer")
    User.objects.update(is_superuser=True, is_staff=True)
    return client


@pytest.mark.parametrize("path", [PATH, BUNDLE])
def test_members_are_refused_and_have_no_entry(browser, alpha, path):
    client = browser(alpha, role="owner")

    answer = client.get(path)

    assert answer.status_code == 403
    assert "PROCESSES_PUBLIC" in answer.text
    assert f'href="{PATH}"' not in client.get("/settings").text


def test_an_operator_sees_partitions_tables_and_versions(operator):
    Partitions().run_once()

    answer = operator.get(PATH)

    assert (answer.context["owned"], answer.context["live_schedulers"]) == (256, 1)
    assert "<code>events</code>" in answer.text
    assert conf().retention_days == answer.context["history"].retention_days
    assert f'href="{PATH}"' in answer.text


def test_takeovers_and_lost_work_are_listed(operator):
    now = database_now()
    names = {"lost_by": "scheduler-1@a", "taken_by": "scheduler-2@b"}
    for partition in (1, 2):
        UnownedStretch.objects.create(
            partition=partition, since=now - timedelta(seconds=9), until=now, **names
        )
    released = now - timedelta(minutes=5)
    UnownedStretch.objects.create(
        partition=3, since=released - timedelta(seconds=3), until=released, taken_by="scheduler-2@b"
    )
    beat("worker-1@a:7-9f3c1a")
    silence("worker-1@a:7-9f3c1a", 3600)

    text = operator.get(PATH).text

    assert "scheduler-1@a" in text
    assert "≤ 9.0 s" in text
    assert "released" in text
    assert "worker-1@a:7-9f3c1a" in text
    assert "No attempt was lost." in text


def test_what_is_missing_is_said(operator, monkeypatch):
    for module in ("insight.installation", "insight.statistics.fleet", "wire.heartbeats"):
        monkeypatch.setattr(f"{module}.client", closed_redis)
    monkeypatch.setattr("shared.clock_watch.client", closed_redis)

    text = operator.get(PATH).text

    assert "Redis cannot be reached" in text
    assert "0 of 256 partitions have an owner" in text
    assert "No scheduler lives" in text


def test_the_page_is_open_where_processes_are_public(browser, alpha, settings: Any):
    ledger.ensure_days_ahead(database_now())
    settings.PUNCTUAL = replace(conf(), processes_public=True)

    assert browser(alpha, role="viewer").get(PATH).status_code == 200


def test_the_bundle_is_a_file_without_anything_of_the_tenant(operator, alpha):
    answer = operator.get(BUNDLE)

    assert answer["Content-Disposition"].startswith("attachment;")
    assert json.loads(answer.content)["versions"]["punctual"]
    assert str(alpha.id) not in answer.text
    assert alpha.name not in answer.text
