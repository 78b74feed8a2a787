from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError
from redis import ConnectionError as RedisAway

from operations.doctor import examination, faces, runtime
from operations.doctor.finding import Finding, Verdict, good


def _fails(error: Exception):
    def check() -> Finding:
        raise error

    return check


@pytest.fixture
def quiet(monkeypatch, settings):
    """Leave one check of each kind, all good."""
    settings.REDIS_URL = "redis://redis.example/0"
    for name in ("_MACHINE", "_DATABASE", "_REDIS", "_DATABASE_AT_WORK", "_REDIS_AT_WORK"):
        monkeypatch.setattr(examination, name, (lambda name=name: good(name, "fine"),))
    monkeypatch.setattr(runtime, "processes", lambda: good("processes", "fine"))
    monkeypatch.setattr(runtime, "clocks", lambda: good("clocks", "fine"))
    for name in ("mail", "live_socket"):
        monkeypatch.setattr(faces, name, lambda name=name: good(name, "fine"))
    return monkeypatch


def _checks() -> list[str]:
    return [item.check for item in examination.examine()]


def test_every_check_is_made_in_order(quiet):
    assert _checks() == [
        *("_MACHINE", "_DATABASE", "_REDIS", "processes"),
        *("_DATABASE_AT_WORK", "_REDIS_AT_WORK", "clocks", "mail", "live_socket"),
    ]


@pytest.mark.parametrize("error", [OperationalError("refused"), ImproperlyConfigured("dummy")])
def test_without_a_database_the_rest_is_still_examined(quiet, error):
    quiet.setattr(examination, "_DATABASE", (_fails(error),))

    found = list(examination.examine())

    assert [item.check for item in found] == [
        *("_MACHINE", "database", "_REDIS", "processes", "_REDIS_AT_WORK"),
        *("mail", "live_socket"),
    ]
    assert found[1].unreachable
    assert found[1].remedy


def test_without_redis_the_rest_is_still_examined(quiet):
    quiet.setattr(examination, "_REDIS", (_fails(RedisAway("refused")),))

    assert _checks() == [
        *("_MACHINE", "_DATABASE", "redis", "processes", "_DATABASE_AT_WORK"),
        *("mail", "live_socket"),
    ]


def test_without_any_address_of_redis_it_is_not_asked(quiet, settings):
    settings.REDIS_URL = ""

    found = list(examination.examine())

    assert found[2].evidence == "Redis does not answer. No address is known."


def test_missing_tables_do_not_end_the_examination(quiet):
    quiet.setattr(examination, "_DATABASE", (_fails(ProgrammingError("no tasks")),))

    found = list(examination.examine())

    assert found[1].verdict is Verdict.FAILED
    assert not found[1].unreachable
    assert "migrate" in found[1].remedy
    assert "clocks" in [item.check for item in found]


@pytest.mark.django_db
def test_a_real_examination_has_an_answer_to_every_check(servers, settings):
    found = list(examination.examine())

    assert len(found) > 20
    assert not any(item.unreachable for item in found)
    assert all(item.remedy for item in found if item.verdict is not Verdict.OK)
