from __future__ import annotations

from typing import Any

import pytest

from executions.dead_letters.letters import retry_dead_letter
from executions.models import DeadLetter, Execution
from executions.triggering.triggers import Override
from insight.presentation.dead_letters import present_letter, present_letters
from tenants.models import Tenant
from tests.factories import ACTOR, make_dead_letter

pytestmark = pytest.mark.django_db


def test_letters_are_presented_in_a_fixed_number_of_queries(
    alpha: Tenant, django_assert_num_queries: Any
):
    letters = [make_dead_letter(alpha) for _ in range(4)]

    with django_assert_num_queries(3):
        shown = present_letters(letters)

    assert [letter["id"] for letter in shown] == [str(letter.id) for letter in letters]
    assert all(letter["payload"] == {"n": 1} for letter in shown)
    assert all(len(letter["attempts"]) == 1 for letter in shown)


def test_a_list_shows_attempts_in_brief_and_the_single_view_in_full(alpha: Tenant):
    letter = make_dead_letter(alpha)

    (brief,), full = present_letters([letter]), present_letter(letter)

    assert "request" not in brief["attempts"][0]
    assert full["attempts"][0]["request"]["url"] == "https://api.example.com/reports"
    assert {key: full[key] for key in brief if key != "attempts"} == {
        key: value for key, value in brief.items() if key != "attempts"
    }


def test_an_unresolved_letter_says_so(alpha: Tenant):
    shown = present_letter(make_dead_letter(alpha))

    assert (shown["resolved"], shown["resolution"], shown["note"]) == (False, None, "")
    assert (shown["resolved_by"], shown["resolved_at"], shown["edit"]) == (None, None, None)
    assert (shown["retry_execution_id"], shown["last_response"]) == (None, None)


def test_the_edit_of_a_retry_is_shown(alpha: Tenant):
    letter = make_dead_letter(alpha)
    made = retry_dead_letter(alpha.id, letter.id, Override(None), actor=ACTOR)

    shown = present_letter(DeadLetter.objects.get())

    assert shown["edit"] == {"payload": None}
    assert (shown["resolved_by"], shown["retry_execution_id"]) == (ACTOR.name, str(made.id))


def test_a_letter_without_its_execution_shows_what_is_left(alpha: Tenant):
    letter = make_dead_letter(alpha)
    Execution.objects.all().delete()

    shown = present_letter(letter)

    assert shown["error"] == {"code": "http_status", "message": "The answer was 500."}
    assert shown["payload"] == {"n": 1}
