from __future__ import annotations

import pytest

from tasks.models import Pause
from tests.executions.changes.standing import end, stand
from tests.factories import make_task, reload
from tests.support.admin import said, text_of

pytestmark = pytest.mark.django_db


def test_pauses_of_every_tenant_are_listed_in_words(browser, alpha, beta):
    first, second = stand(alpha, note="Down."), stand(beta, "tenant", "")
    end(second)

    words = text_of(browser.list(Pause))
    assert "the label team:billing" in words
    assert "the whole tenant" in words
    open_ones = text_of(browser.list(Pause, open="1"))
    assert "the label team:billing" in open_ones
    assert "the whole tenant" not in open_ones
    assert "the label team:billing" not in text_of(browser.list(Pause, open="0"))
    assert "Down." in text_of(browser.page(first))


def test_a_page_shows_how_many_tasks_a_pause_holds(browser, alpha):
    make_task(alpha)

    words = text_of(browser.page(stand(alpha)))

    assert "Tasks that it holds: 1" in words or "Tasks that it holds 1" in words


def test_pauses_are_ended_after_a_question(browser, alpha):
    task = make_task(alpha)
    first, second = stand(alpha), stand(alpha, "tenant", "")
    end(second)

    asked = browser.act(Pause, "end", [first, second])
    assert "Tasks that these pauses hold resume" in text_of(asked)
    assert reload(task).status == "PAUSED"

    done = browser.confirm(Pause, "end", [first, second])
    assert said(done) == "1 ended, 1 skipped (already ended), 0 failed."
    assert reload(task).status == "SCHEDULED"
