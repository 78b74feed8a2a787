"""Bodies of an import: strict JSON, or the iCalendar text itself as ``text/calendar``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import UnsupportedMediaType

from shared.api.parsers import StrictJSONParser
from shared.exceptions import FieldError, InvalidInput, TooLarge
from tasks.ical_lines import MAX_CHARACTERS

_CALENDAR = "text/calendar"
#: A character is four bytes at most.
_MAX_BYTES = 4 * MAX_CHARACTERS


class CalendarParser(StrictJSONParser):
    """Parse JSON as everywhere; a ``text/calendar`` body reads as ``{"ical": the text}``."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body's object."""
        name, *parameters = (part.strip().lower() for part in (media_type or "").split(";"))
        if name != _CALENDAR:
            return super().parse(stream, media_type, parser_context)
        charsets = {text[8:].strip("\"'") for text in parameters if text.startswith("charset=")}
        if not charsets <= {"utf-8", "utf8"}:
            raise UnsupportedMediaType(media_type or "", "Send the text in UTF-8.")
        body: bytes = stream.read(_MAX_BYTES + 1)
        if len(body) > _MAX_BYTES:
            raise TooLarge(f"The body is larger than {_MAX_BYTES} bytes.")
        try:
            return {"ical": body.decode("utf-8")}
        except UnicodeDecodeError as error:
            line = body.count(b"\n", 0, error.start) + 1
            text = f"Line {line}: this is not UTF-8."
            raise InvalidInput([FieldError("#", "ical_invalid", text)], text) from error
