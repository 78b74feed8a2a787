"""The criteria of success beyond the status: a header, a pattern in the body, a JSON value.

Pure. Read once per definition; all given criteria must hold. They see the body as captured: what
lies behind the capture limit does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from delivery.answered_json import read_json, without_mark
from delivery.http_messages import Response
from shared.json_path import MISSING, Step, parse_path, read
from shared.patterns import Pattern, compile_pattern


@dataclass(frozen=True, slots=True)
class Criteria:
    """Criteria in their parsed form; None for each that the definition does not have."""

    header: tuple[str, Pattern] | None
    body: Pattern | None
    json: tuple[tuple[Step, ...], Any] | None

    def mismatch(self, response: Response) -> str | None:
        """Return a sentence about the first criterion that does not hold, or None.

        The sentence shows nothing of the answer.
        """
        if self.header is not None and not self._header_holds(response, *self.header):
            return f"The header {self.header[0]} of the answer is not as the criteria ask."
        if self.body is not None and not (
            not response.encoding and self.body.found_in(without_mark(response.body))
        ):
            return "The body of the answer does not hold the pattern of the criteria."
        return None if self.json is None else self._json_mismatch(response, *self.json)

    @staticmethod
    def _header_holds(response: Response, name: str, pattern: Pattern) -> bool:
        return any(
            key.lower() == name.lower() and pattern.found_in(value.encode("utf-8", "replace"))
            for key, value in response.headers
        )

    @staticmethod
    def _json_mismatch(response: Response, steps: tuple[Step, ...], equals: Any) -> str | None:
        if response.truncated:
            return "The answer is longer than what is captured, so its JSON cannot be judged."
        try:
            document = read_json(response.body)
        except ValueError:
            return "The answer is no JSON."
        found = read(document, steps)
        if found is MISSING:
            return "The JSON of the answer lacks the place that the criteria name."
        if not _same(found, equals):
            return "The JSON of the answer has another value where the criteria look."
        return None


def read_criteria(success: Mapping[str, Any]) -> Criteria | None:
    """Return the parsed criteria of a target, None when the status alone decides.

    ValueError for a pattern or path that validation would have refused.
    """
    header, body, json = success.get("header"), success.get("body_pattern"), success.get("json")
    if header is None and body is None and json is None:
        return None
    return Criteria(
        header=None if header is None else (header["name"], compile_pattern(header["pattern"])),
        body=None if body is None else compile_pattern(body),
        json=None if json is None else (parse_path(json["path"]), json["equals"]),
    )


def _same(found: Any, wanted: Any) -> bool:
    """Compare as JSON does: 1 is 1.0, and true is not 1."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return type(found) in (str, int, float, type(None)) and bool(found == wanted)
