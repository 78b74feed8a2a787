from __future__ import annotations

import pytest

from executions.models import Attempt
from operations.dead_letters import letters
from shared.exceptions import NotFound
from shared.redaction import MASK
from tenants.models import Tenant
from tests.executions.answers import sealed_answer
from tests.factories import make_dead_letter
from tests.operations.commands.letters_of import make_letters

EVERYTHING = dict.fromkeys(("tenant", "task", "signature", "q", "resolved", "resolved_as"))


def test_an_ending_that_is_too_short_is_not_meant(alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert letters.find_letter(str(letter.id)[-6:]) == letter
    with pytest.raises(NotFound):
        letters.find_letter(str(letter.id)[-5:])


def test_an_export_goes_over_its_pages(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    made = make_letters(alpha, 3)
    monkeypatch.setattr(letters, "_EXPORT_PAGE", 2)

    found = letters.export(letters.matching(EVERYTHING), payload=False)

    assert [item["id"] for item in found] == [str(letter.id) for letter in made]


def test_the_last_answer_is_shown_with_its_secrets_masked(alpha: Tenant):
    letter = make_dead_letter(alpha)
    headers = [["Set-Cookie", "session=1"], ["Content-Type", "text/\x1b[31m"]]
    answer = sealed_answer(letter.execution_id, b"no \x1b[31m way", headers)
    Attempt.objects.update(sealed_response=answer)

    lines = list(letters.show_lines(letters.document(letter, payload=False)))

    text = "\n".join(lines)
    assert f"Set-Cookie: {MASK}" in text
    assert "no ?[31m way" in text
    assert "\x1b" not in text


def test_a_letter_without_an_answer_says_so(alpha: Tenant):
    letter = make_dead_letter(alpha)

    lines = list(letters.show_lines(letters.document(letter, payload=False)))

    assert lines[-1] == "answer     none was captured"
