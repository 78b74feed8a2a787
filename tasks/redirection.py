"""Redirected versions: a task's definition aimed elsewhere, for the executions of one replay.

A replay may go into another pool or to another URL. Its executions run under a version of their
own, so that their attempts, retries and leases go there as well, and an edit of the task does not
affect them. The task itself never has such a version. No secret follows to another place (decision
note 0027): a URL of another host gets none of them, a command that has secrets stays in its pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shared.exceptions import Conflict, InvalidInput
from shared.http_headers import is_secret_header
from shared.named_secrets.references import names_in
from tasks.definition import Definition
from tasks.field_reader import Errors, FieldReader
from tasks.kept_secrets import REFUSED_CODE, is_moved, refuse_moved
from tasks.limits import POOL_NAME_LENGTH, Limits
from tasks.masking import mask_target, masked_places
from tasks.repeats import Repeats
from tasks.validation.pools import is_pool_name
from tasks.validation.target import read_target
from tasks.validation.urls import read_url

#: Parts of a webhook that prove its sender, or set its route.
_LEFT_OUT = ("auth", "tls", "proxy")


def read_into(into: Any, limits: Limits) -> dict[str, str]:
    """Return the place that a replay names: ``url`` or ``pool``; raise InvalidInput."""
    errors = Errors()
    data = into if isinstance(into, Mapping) else {}
    reader = FieldReader(data, "#/into", errors)
    reader.refuse_unknown(("url", "pool"))
    given = [key for key in ("url", "pool") if reader.given(key)]
    if len(given) != 1:
        errors.add("#/into", "exclusive", "Give exactly one of url and pool.")
    for key in given:
        if key == "url":
            read_url(reader, key, limits)
            continue
        name = reader.text(key, "", longest=POOL_NAME_LENGTH)
        if name and not is_pool_name(name):
            message = "Lower-case letters, digits, and _ or - between them."
            reader.error(key, "name_invalid", message)
    errors.raise_if_any()
    return {given[0]: data[given[0]]}


def redirected(definition: Definition, into: Mapping[str, str], limits: Limits) -> Definition:
    """Return the definition aimed at the place.

    A URL of another scheme, host or port gets no authentication, certificate, proxy or secret
    header of the task. Raise Conflict ``into_unfit`` for a target that has no URL or pool to
    replace, and InvalidInput for a place that is not allowed, with the code ``secret_required``
    where a command would take its secrets to another pool.
    """
    target = definition.target
    [(key, place)] = into.items()
    if (key == "url") != (target["kind"] == "webhook"):
        hint = "a webhook takes into.url" if key == "pool" else "only a webhook takes into.url"
        raise Conflict(f"The task's target has no {key}: {hint}.", code="into_unfit")
    aimed = {**target, key: place}
    errors = Errors()
    if key == "url" and is_moved(target, aimed):
        headers = {
            name: text
            for name, text in target["headers"].items()
            if not is_secret_header(name) and not names_in(text)
        }
        aimed |= {**dict.fromkeys(_LEFT_OUT), "headers": headers}
    elif key == "pool":
        # A named secret may follow: it is bound to the command, in every pool.
        refuse_moved(list(masked_places(mask_target(target))), target, aimed, errors)
    if errors.count:
        refused = InvalidInput(errors.renamed(str))
        refused.code = REFUSED_CODE
        raise refused
    read = read_target(FieldReader(aimed, "#/target", errors), limits, Repeats())
    errors.raise_if_any()
    return replace(definition, target=read)
