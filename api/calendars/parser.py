"""Bodies of an import: strict JSON, or the iCalendar file itself as ``text/calendar``."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import UnsupportedMediaType

from api.protocol.parsers import StrictJSONParser
from shared.exceptions import TooLarge
from tasks.ical.limits import MAX_BYTES

_CALENDAR = "text/calendar"
#: Encodings that iCalendar files come in. A file's own byte order mark goes before.
_CHARSET = re.compile(r"utf-8|utf-16(-?[lb]e)?|ascii|iso8859-\d{1,2}|cp125\d")
#: Keys of the body that is a file: its bytes, each as one character, and its encoding.
OCTETS, CHARSET = "octets", "charset"


class CalendarParser(StrictJSONParser):
    """Parse JSON as everywhere; a ``text/calendar`` body is kept byte for byte."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body's object."""
        if not is_calendar(media_type):
            return super().parse(stream, media_type, parser_context)
        charset = _charset(media_type or "")
        body: bytes = stream.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise TooLarge(f"The body is larger than {MAX_BYTES} bytes.")
        return {OCTETS: body.decode("latin-1"), CHARSET: charset}


def is_calendar(media_type: str | None) -> bool:
    """Return whether a body of this type is an iCalendar file."""
    return (media_type or "").partition(";")[0].strip().lower() == _CALENDAR


def _charset(media_type: str) -> str:
    """Return the encoding that the type names; "" for UTF-8 and where it names none."""
    parameters = (part.strip().lower() for part in media_type.split(";")[1:])
    names = {text[8:].strip("\"'") for text in parameters if text.startswith("charset=")}
    try:
        known = {codecs.lookup(name).name for name in names}
    except (LookupError, ValueError):
        known = {""}
    if len(known) > 1 or not all(_CHARSET.fullmatch(name) for name in known):
        raise UnsupportedMediaType(media_type, "Send the file in UTF-8.")
    return "".join(known - {"utf-8", "ascii"})
