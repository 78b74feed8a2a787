from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse

from dashboard import saved_form
from dashboard.saved_form import save_form
from shared.exceptions import Conflict, FieldError, InvalidInput


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the form without a database; return what was told."""
    told: list[str] = []
    monkeypatch.setattr(saved_form, "run_once", lambda _, run: run())
    monkeypatch.setattr("dashboard.saved_form.messages.success", lambda _, text: told.append(text))
    return told


def refused(error: Exception, **parts: Any) -> HttpResponse | dict[str, str]:
    def save() -> None:
        raise error

    return save_form(HttpRequest(), save, done="Saved.", leads_to="/list", **parts)


def test_what_was_saved_is_told_and_leads_to_the_list(once: list[str]):
    answer = save_form(HttpRequest(), lambda: None, done="Saved.", leads_to="/list")

    assert isinstance(answer, HttpResponse)
    assert answer["Location"] == "/list"
    assert once == ["Saved."]


def test_errors_are_of_fields_as_the_form_calls_them(once: list[str]):
    errors = [
        FieldError("#/hosts/2", "invalid", "Not this."),
        FieldError("#/hosts/3", "invalid", "Nor that."),
        FieldError("#/value", "required", "Give one."),
        FieldError("#", "invalid", "Not at all."),
    ]

    found = refused(InvalidInput(errors, "Bad."), named={"value": "secret_value"})

    assert found == {
        "hosts": "Not this. Nor that.",
        "secret_value": "Give one.",
        "form": "Not at all.",
    }
    assert once == []


def test_another_refusal_is_of_the_form():
    assert refused(Conflict("It has changed.")) == {"form": "It has changed."}
