"""What an execution of a step carries: its payload, and what templates have made of its target."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import orjson

from shared.named_secrets.references import Parts, split
from tasks.step_definitions import is_rendered
from tasks.workflow.references import (
    Budget,
    Scope,
    TemplateInvalid,
    as_text,
    render,
    render_text,
)
from workflows.advance.outputs import MOST_BYTES, OutputInvalid
from workflows.advance.records import Failure

_LONGEST_URL = 2048
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def own_of(step: Mapping[str, Any], scope: Scope) -> Any:
    """Return what an execution of the step carries; raise TemplateInvalid or OutputInvalid.

    A payload, or with it the URL and headers, or arguments and environment, that its templates
    make: a value is percent-encoded in a URL, and cannot bring a line break into a header. They
    insert at most 256 KiB into the payload, and as much into all else.
    """
    payload = bounded(render(step["payload"], scope, Budget(MOST_BYTES)))
    target = step["target"]
    if not is_rendered(target):
        return payload
    budget = Budget(MOST_BYTES)
    if target["kind"] == "webhook":
        headers = {
            name: _header(name, text, scope, budget) for name, text in target["headers"].items()
        }
        return {"payload": payload, "url": _url(target["url"], scope, budget), "headers": headers}
    return {
        "payload": payload,
        "arguments": [_argument(text, scope, budget) for text in target["arguments"]],
        "environment": {
            name: _around_secrets(text, lambda part: _argument(part, scope, budget))
            for name, text in target["environment"].items()
        },
    }


def bounded(payload: Any) -> Any:
    """Return a payload that is small enough; raise OutputInvalid ``payload_too_large``."""
    size = len(orjson.dumps(payload))
    if size > MOST_BYTES:
        message = f"The payload has {size} bytes as compact JSON; at most {MOST_BYTES} are sent."
        raise OutputInvalid(Failure("payload_too_large", message))
    return payload


def _url(written: str, scope: Scope, budget: Budget) -> str:
    found = render_text(written, scope, lambda value: quote(as_text(value), safe=""), budget)
    if len(found) > _LONGEST_URL:
        raise TemplateInvalid(f"The URL has {len(found)} characters; at most {_LONGEST_URL}.")
    return found


def _header(name: str, written: str, scope: Scope, budget: Budget) -> str | Parts:
    return _around_secrets(written, lambda text: _header_text(name, text, scope, budget))


def _header_text(name: str, written: str, scope: Scope, budget: Budget) -> str:
    found = render_text(written, scope, as_text, budget)
    if _CONTROLS.search(found):
        raise TemplateInvalid(f"The header {name} would have a line break or a control character.")
    return found


def _around_secrets(written: str, render_one: Callable[[str], str]) -> str | Parts:
    """Return a text, or with named secrets its parts, each rendered by itself.

    A worker inserts the secrets. What a template inserts is in a part of its own, where no worker
    looks for the name of a secret: no answer of a receiver can ask for one.
    """
    parts = split(written)
    if isinstance(parts, str):
        return render_one(parts)
    return [render_one(part) if isinstance(part, str) else part for part in parts]


def _argument(written: str, scope: Scope, budget: Budget) -> str:
    found = render_text(written, scope, as_text, budget)
    if "\0" in found:
        raise TemplateInvalid("An argument would have a NUL character.")
    return found
