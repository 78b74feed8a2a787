from __future__ import annotations

import pytest

from executions.models import DeadLetter, Execution
from tests.factories import make_dead_letter
from tests.support.admin import said, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def letters(alpha, beta) -> list[DeadLetter]:
    return [make_dead_letter(alpha), make_dead_letter(beta)]


@pytest.fixture
def closed(alpha, browser) -> DeadLetter:
    letter = make_dead_letter(alpha)
    browser.confirm(DeadLetter, "archive", [letter], note="")
    return letter


def test_dead_letters_are_retried_after_a_question(browser, letters, closed):
    asked = browser.act(DeadLetter, "retry", [*letters, closed])
    answer = browser.confirm(DeadLetter, "retry", [*letters, closed])

    assert "3 dead letters:" in text_of(asked)
    assert f"Once, {closed.created_at:%Y-%m-%d}" in text_of(asked)
    assert said(answer) == "2 retried, 1 skipped (already archived), 0 failed."
    assert Execution.objects.filter(trigger="retry").count() == 2


def test_resolving_asks_how_and_why(browser, letters):
    asked = browser.act(DeadLetter, "resolve", letters)
    assert b'name="resolution" value="fixed"' in asked.content
    assert b'name="note"' in asked.content

    unsaid = browser.confirm(DeadLetter, "resolve", letters, resolution="", note="")
    assert unsaid.status_code == 200
    assert not DeadLetter.objects.filter(resolved=True).exists()

    answer = browser.confirm(
        DeadLetter, "resolve", letters, resolution="mended", note="Paid by hand."
    )
    assert said(answer) == "2 resolved, 0 skipped, 0 failed."
    for letter in DeadLetter.objects.all():
        assert (letter.resolution, letter.note) == ("mended", "Paid by hand.")
        assert letter.resolved_by == f"user:{browser.user.pk}"


def test_a_reserved_word_is_counted_as_failed(browser, letters):
    answer = browser.confirm(DeadLetter, "resolve", letters, resolution="retried", note="")

    assert said(answer).startswith("0 resolved, 0 skipped, 2 failed (")
    assert not DeadLetter.objects.filter(resolved=True).exists()


def test_archiving_keeps_the_note(browser, letters):
    answer = browser.confirm(DeadLetter, "archive", letters[:1], note="Not needed.")

    assert said(answer) == "1 archived, 0 skipped, 0 failed."
    letter = DeadLetter.objects.get(pk=letters[0].pk)
    assert (letter.resolution, letter.note) == ("archived", "Not needed.")


def test_dead_letters_are_found_by_what_people_know(browser, letters):
    wanted = letters[0]

    for text in (str(wanted.pk), str(wanted.execution_id), str(wanted.task_id)):
        assert browser.list(DeadLetter, q=text).context["cl"].result_list == [wanted]
    assert f'href="/dead-letters/{wanted.pk}"' in browser.list(DeadLetter).content.decode()
