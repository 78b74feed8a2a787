"""Actions of the admin: each row through its service, in a transaction of its own.

A refusal of one row does not undo the others: the answer counts the rows that were done, skipped
and failed, with reasons. An action that cannot be undone asks for confirmation first. To act on
all rows that match a filter is the work of the console's bulk jobs, not of one request.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ValidationError
from django.db import OperationalError, transaction
from django.db.models import QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from shared.actor import Actor
from shared.exceptions import Conflict, PunctualError

log = logging.getLogger(__name__)

#: The field of a confirmation page that marks it as confirmed.
CONFIRMED = "confirmed"
_SHOWN = 5
_REASONS = 3


class NoteForm(forms.Form):
    """The person's reason for the action."""

    note = forms.CharField(
        max_length=1000, required=False, widget=forms.Textarea(attrs={"rows": 2, "cols": 60})
    )


@dataclass(frozen=True)
class Verb:
    """An action: what it does to one row, and how it is put in words.

    ``skip`` returns why a row stays as it is, or ''. A person confirms the ``warning`` before the
    action runs; without a warning it runs at once.
    """

    name: str
    label: str
    done: str
    apply: Callable[[Any, Actor, Mapping[str, Any]], object]
    skip: Callable[[Any], str] = lambda row: ""
    warning: str = ""
    form: type[forms.Form] = forms.Form


@dataclass
class Outcome:
    """The result of an action over some rows."""

    done: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def sentence(self, verb: Verb) -> str:
        """Return the counts: ``3 paused, 1 skipped (already paused), 0 failed``."""
        return (
            f"{self.done} {verb.done}, {self.skipped.total()} skipped{_reasons(self.skipped)}, "
            f"{self.failed.total()} failed{_reasons(self.failed)}."
        )

    @property
    def level(self) -> int:
        """Return how the message looks."""
        if self.failed:
            return messages.WARNING if self.done else messages.ERROR
        return messages.SUCCESS if self.done else messages.WARNING


def carry_out(verb: Verb, rows: Iterable[Any], actor: Actor, options: Mapping[str, Any]) -> Outcome:
    """Do the verb to each row in a transaction of its own; count, never raise a refusal."""
    outcome = Outcome()
    for row in rows:
        reason = verb.skip(row)
        if reason:
            outcome.skipped[reason] += 1
            continue
        try:
            with transaction.atomic(durable=True):
                verb.apply(row, actor, options)
        except Conflict as refused:
            outcome.skipped[refused.message] += 1
        except PunctualError as refused:
            outcome.failed[refused.message] += 1
        except OperationalError as error:
            log.warning("admin_action.failed", extra={"verb": verb.name, "reason": str(error)})
            outcome.failed["The database was busy; try again."] += 1
        else:
            outcome.done += 1
    return outcome


def admin_action(verb: Verb) -> Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    """Return the verb as an action of a ``ProductAdmin``."""

    def act(door: Any, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        rows = list(queryset.order_by("-pk"))
        form = verb.form(request.POST if CONFIRMED in request.POST else None)
        if verb.warning and not form.is_valid():
            return _confirmation(door, request, verb, rows, form)
        options = form.cleaned_data if form.is_bound else {}
        outcome = carry_out(verb, rows, door.actor(request), options)
        door.message_user(request, outcome.sentence(verb), outcome.level)
        return None

    act.__name__ = verb.name
    act.short_description = verb.label  # type: ignore[attr-defined]  # read by the admin
    act.allowed_permissions = ("operate",)  # type: ignore[attr-defined]  # read by the admin
    return act


def chosen_keys(request: HttpRequest, pk: Any) -> list[Any]:
    """Return the keys that were ticked; raise ValidationError for an invalid one."""
    given = request.POST.getlist(ACTION_CHECKBOX_NAME)
    keys = [pk.to_python(value) for value in given]
    if None in keys:
        raise ValidationError("A key is missing.")
    return keys


def _confirmation(
    door: Any, request: HttpRequest, verb: Verb, rows: list[Any], form: forms.Form
) -> HttpResponse:
    shown = rows[:_SHOWN]
    prefetch_related_objects(shown, *door.list_prefetch)
    context = {
        **door.admin_site.each_context(request),
        "title": f"{verb.label}?",
        "opts": door.opts,
        "verb": verb,
        "rows": rows,
        "count": len(rows),
        "shown": [door.describe(row) for row in shown],
        "more": max(0, len(rows) - _SHOWN),
        "form": form,
        "confirmed": CONFIRMED,
        "checkbox": ACTION_CHECKBOX_NAME,
        "back": request.get_full_path(),
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)


def _reasons(counted: Counter[str]) -> str:
    if not counted:
        return ""
    named = [_uncapitalised(reason) for reason, _ in counted.most_common(_REASONS)]
    more = ["…"] if len(counted) > _REASONS else []
    return f" ({'; '.join(named + more)})"


def _uncapitalised(reason: str) -> str:
    return reason[:1].lower() + reason[1:].removesuffix(".")
