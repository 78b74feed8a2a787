"""The output of a step: from what its execution answered, within bounds, or why there is none."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import orjson

from delivery.answered_json import read_json, without_mark
from shared import strict_json
from shared.encryption import DecryptionFailed, open_json
from shared.exceptions import InvalidInput
from shared.sealing_contexts import response_context, result_context
from workflows.advance.records import Ended, Failure

#: Of one step, and of all items of a fan-out together, as compact JSON.
MOST_BYTES = 256 * 1024
MOST_BYTES_OF_FAN = 1024 * 1024
#: What strict JSON says of a text that is JSON and has a value that cannot be kept as it is.
_NOT_KEPT = frozenset({"json_too_deep", "text_invalid", "number_out_of_range"})


_TOGETHER = Failure(
    "output_too_large",
    "The outputs of the workflow's last steps have more bytes together than the "
    f"{MOST_BYTES} of compact JSON that are kept.",
)
#: Why a run that has succeeded has no result -> why the step that began it has no output.
_WITHOUT_RESULT = {
    _TOGETHER.code: _TOGETHER,
    DecryptionFailed.code: Failure(DecryptionFailed.code, "The outputs could not be opened."),
}


class OutputInvalid(Exception):
    """An execution succeeded, and its output cannot be used."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def output_of(ended: Ended, tenant_id: UUID) -> Any:
    """Return the output of a succeeded execution: its result, or the JSON that it answered.

    An answer that is not JSON is null. Raise OutputInvalid for one that was cut, is too large or
    cannot be kept, and for a run without a result, DecryptionFailed where no key opens it.
    """
    if ended.result is not None:
        return checked(open_json(ended.result, result_context(tenant_id, ended.id)))
    if ended.response is None:
        if ended.reason in _WITHOUT_RESULT:
            raise OutputInvalid(_WITHOUT_RESULT[ended.reason])
        return None
    return checked(_answered(ended.response, tenant_id, ended.id))


def bounded_outputs(keys: Iterable[str], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return these outputs by their keys, null where there is none.

    Raise OutputInvalid where they are too large together, before all of them are read, and
    DecryptionFailed where no key opens one.
    """
    found: dict[str, Any] = {}
    size = 1
    for key in keys:
        found[key] = outputs.get(key)
        # With the quotes, the colon and the comma or bracket.
        size += len(key) + len(orjson.dumps(found[key])) + 4
        if size > MOST_BYTES:
            raise OutputInvalid(_TOGETHER)
    return found


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


def _answered(sealed: bytes, tenant_id: UUID, execution_id: UUID) -> Any:
    answer = open_json(sealed, response_context(tenant_id, execution_id))
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
