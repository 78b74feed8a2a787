from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from scheduler_site.checks import TOKENS


def test_a_bad_list_of_issuers_is_an_error_with_its_sentence(settings):
    settings.JWT_ISSUERS_PROBLEM = "JWT_ISSUERS: it must be a list."

    [found] = run_checks(tags=[TOKENS])

    assert (found.id, found.msg) == ("punctual.E001", "JWT_ISSUERS: it must be a list.")
    with pytest.raises(SystemCheckError, match="it must be a list"):
        call_command("check")


def test_the_web_process_does_not_start_with_it(settings):
    settings.JWT_ISSUERS_PROBLEM = "JWT_ISSUERS: it must be a list."

    with pytest.raises(SystemCheckError, match="it must be a list"):
        call_command("run_web")


def test_a_good_one_is_not_mentioned():
    assert run_checks(tags=[TOKENS]) == []
