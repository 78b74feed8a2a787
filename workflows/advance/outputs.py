"""The output of a step: from what its execution answered, within bounds, or why there is none."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

import orjson

from delivery.answered_json import read_json, without_mark
from shared import strict_json
from shared.encryption import open_json
from shared.exceptions import InvalidInput
from shared.sealing_contexts import response_context, result_context
from workflows.advance.records import Ended, Failure

#: Of one step, and of all items of a fan-out together, as compact JSON.
MOST_BYTES = 256 * 1024
MOST_BYTES_OF_FAN = 1024 * 1024
#: What strict JSON says of a text that is JSON and has a value that cannot be kept as it is.
_NOT_KEPT = frozenset({"json_too_deep", "text_invalid", "number_out_of_range"})


class OutputInvalid(Exception):
    """An execution succeeded, and its output cannot be used."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def output_of(ended: Ended) -> Any:
    """Return the output of a succeeded execution: its result, or the JSON that it answered.

    An answer that is not JSON is null. Raise OutputInvalid for one that was cut, is too large or
    cannot be kept, DecryptionFailed where no key opens it.
    """
    if ended.result is not None:
        return checked(open_json(ended.result, result_context(ended.id)))
    if ended.response is None:
        return None
    return checked(_answered(ended.response, ended.id))


def checked(value: Any) -> Any:
    """Return a value that can be kept as an output; raise OutputInvalid for others."""
    problem = strict_json.json_problem(value, "#")
    if problem:
        raise OutputInvalid(Failure("output_invalid", f"The output cannot be kept: {problem[2]}"))
    size = len(orjson.dumps(value))
    if size > MOST_BYTES:
        message = f"The output has {size} bytes as compact JSON; at most {MOST_BYTES} are kept."
        raise OutputInvalid(Failure("output_too_large", message))
    return value


def _answered(sealed: bytes, execution_id: UUID) -> Any:
    answer = open_json(sealed, response_context(execution_id))
    if "headers" not in answer:
        # The log of a handler or a command that returned nothing.
        return None
    if answer["truncated"]:
        message = "The answer is longer than what is kept of it, so it has no output."
        raise OutputInvalid(Failure("output_too_large", message))
    body = base64.b64decode(answer["body"])
    if not body or answer.get("encoding"):
        return None
    try:
        return strict_json.read_json(without_mark(body))
    except InvalidInput as wrong:
        problem = wrong.errors[0]
        if problem.code in _NOT_KEPT:
            message = f"The output cannot be kept: {problem.message}"
            raise OutputInvalid(Failure("output_invalid", message)) from None
    try:
        # With a name twice, or in another encoding of Unicode.
        return read_json(body)
    except ValueError:
        return None
