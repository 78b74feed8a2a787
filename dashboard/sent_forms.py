"""Answers to a form that could not be processed: typed text is never lost.

The console's script sends forms itself, marked by ``X-Form``, and stays on the page until the
server has taken them. Without scripts, the answer holds the form and a button that sends it again.
"""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from shared.exceptions import InvalidInput, PunctualError

HEADER = "X-Form"
#: Fields that a page fills in by itself.
_UNTYPED = frozenset(
    {"csrfmiddlewaretoken", "form_key", "form_tenant", "next", "version", "expected_count"}
)

#: Proofs of a person; no answer repeats them.
_PROOFS = frozenset({"present_password", "new_password", "repeated_password", "code"})


def is_by_script(request: HttpRequest) -> bool:
    """Return whether the page's script has sent the form and shows the answer."""
    return request.headers.get(HEADER) == "1"


def answer_script(answer: HttpResponse) -> HttpResponse:
    """Turn a redirect into the address that the script opens; leave other answers alone."""
    if answer.status_code not in (301, 302, 303):
        return answer
    return JsonResponse({"location": answer["Location"]})


def refuse_script(error: PunctualError) -> HttpResponse:
    """Answer with the errors, by field where the error names it."""
    found = error.errors if isinstance(error, InvalidInput) else ()
    errors = [
        {"field": item.pointer.rpartition("/")[2].lstrip("?#"), "message": item.message}
        for item in found
    ]
    body = {"errors": errors or [{"field": "", "message": error.message}]}
    return JsonResponse(body, status=error.status)


def tell_script(status: int, message: str) -> HttpResponse:
    """Answer the script in one sentence that belongs to no field."""
    return JsonResponse({"errors": [{"field": "", "message": message}]}, status=status)


def has_typed(request: HttpRequest) -> bool:
    """Return whether a form holds more than its page had put into it."""
    return bool(request.FILES) or any(
        value and name not in _UNTYPED | _PROOFS for name, value in request.POST.items()
    )


def offer_again(
    request: HttpRequest, status: int, title: str, detail: str, *, sign_in: str = ""
) -> HttpResponse:
    """Return a page that holds the form, unseen, and sends it again at a click."""
    context = {
        "title": title,
        "detail": detail,
        "sign_in": sign_in,
        "sent_to": request.get_full_path(),
        "kept": [
            (name, value)
            for name, values in request.POST.lists()
            if name != "csrfmiddlewaretoken" and name not in _PROOFS
            for value in values
        ],
        "had_files": bool(request.FILES),
    }
    answer = render(request, "dashboard/send_again.html", context, status=status)
    # It holds typed text, which may contain secrets.
    answer["Cache-Control"] = "no-store"
    return answer


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form with a wrong token: offer it again if it came from our own page."""
    ours = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    if is_by_script(request):
        return tell_script(HTTPStatus.FORBIDDEN, "The page is out of date. Send the form again.")
    if ours and has_typed(request):
        detail = "You have signed in again since this page was opened. Nothing was changed yet."
        return offer_again(request, HTTPStatus.FORBIDDEN, "Send the form again", detail)
    context = {
        "title": "Not allowed",
        "detail": "The form came from another site or from a page that is out of date. "
        "Nothing was changed. Go back, load the page again and send the form once more.",
    }
    return render(request, "dashboard/refused.html", context, status=HTTPStatus.FORBIDDEN)
