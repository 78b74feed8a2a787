"""Free text of the console's small forms: notes, names, resolutions; read by the actions.

What no database and no log can hold is refused here, since services trust their callers.
"""

from __future__ import annotations

from django.http import HttpRequest

from shared.exceptions import FieldError, InvalidInput
from tasks.field_reader import text_problem


def read_text(request: HttpRequest, name: str, *, longest: int, default: str = "") -> str:
    """Return the field without blanks around it, ``default`` for nothing; raise InvalidInput."""
    text = request.POST.get(name, "").strip()
    if not text:
        return default
    problem = text_problem(text, longest=longest)
    if problem:
        code, sentence = problem
        label = name.replace("_", " ").capitalize()
        raise InvalidInput([FieldError(f"#/{name}", code, f"{label}: {sentence}")])
    return text
