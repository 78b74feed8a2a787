"""A form whose page saves one thing: the page of the list, or what is wrong with each field."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.access import run_once
from shared.exceptions import InvalidInput, PunctualError


def save_form(
    request: HttpRequest,
    save: Callable[[], object],
    *,
    done: str,
    leads_to: str,
    named: Mapping[str, str] | None = None,
) -> HttpResponse | dict[str, str]:
    """Save once, tell it and lead to a page; return the errors by field where it was refused.

    ``named`` maps fields of the body to those of the form that are called otherwise; what belongs
    to no field stands under ``form``.
    """

    def run() -> HttpResponse:
        save()
        messages.success(request, done)
        return redirect(leads_to)

    try:
        return run_once(request, run)
    except InvalidInput as refused:
        errors: dict[str, str] = {}
        for one in refused.errors:
            # #/hosts/2 is an error of the field hosts.
            field = [*one.pointer.split("/"), "form"][1]
            field = (named or {}).get(field, field)
            errors[field] = f"{errors.get(field, '')} {one.message}".strip()
        return errors
    except PunctualError as refused:
        return {"form": refused.message}
