"""Reads a pasted curl command into a task's definition.

Called by the form for new tasks and for single crontab lines. The command is never run and no
file is read. What Punctual does otherwise than curl is said in a note; what it cannot do at all
is refused with a sentence.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from shared.exceptions import FieldError, InvalidInput
from shared.http_headers import check_header
from tasks.choices import METHODS
from tasks.importers.curl_options import Kind, Option, split_options
from tasks.importers.shell_words import ShellWordsError, split_words
from tasks.limits import NAME_LENGTH

_LONGEST = 256 * 1024
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Pasted:
    """A definition's body as far as the text gave it, and what was not carried over."""

    definition: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Command:
    urls: list[str] = field(default_factory=list)
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    is_json: bool = False
    as_query: bool = False
    timeouts: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def is_curl(text: str) -> bool:
    """Return whether the text is a call of curl."""
    first = text.split(None, 1)[:1]
    return bool(first) and PurePath(first[0]).name in ("curl", "curl.exe")


def parse_curl(text: str) -> Pasted:
    """Return the definition's name, target and payload; raise InvalidInput."""
    if len(text) > _LONGEST:
        raise refusal(f"The command is longer than {_LONGEST // 1024} KiB.")
    try:
        found = split_words(text.strip().removeprefix("$ "))
    except ShellWordsError as error:
        raise refusal(str(error)) from error
    if not found.words or not is_curl(found.words[0]):
        raise refusal("Paste a command that begins with curl.")
    command = _Command()
    for option, value in split_options(found.words[1:], refusal):
        _apply(command, option, value)
    if found.redirections:
        command.notes.append("Where the output goes is left out; the answer is kept as a result.")
    return _pasted(command)


def refusal(message: str) -> InvalidInput:
    """Return the error that names what cannot be taken over."""
    return InvalidInput([FieldError("#", "invalid_paste", message)], message)


def _apply(command: _Command, option: Option | None, value: str) -> None:
    if option is None:
        command.urls.append(value)
    elif option.kind is Kind.REFUSED:
        raise refusal(f"{option.name}: {option.detail}")
    elif option.kind is not Kind.IGNORED:
        _ACTIONS[option.kind](command, option, value)


def _add_url(command: _Command, _: Option, value: str) -> None:
    command.urls.append(value)


def _choose_method(command: _Command, _: Option, value: str) -> None:
    command.method = value.upper()


def _set_known_header(command: _Command, option: Option, value: str) -> None:
    _set_header(command, option.detail, option.prefix + value)


def _set_timeout(command: _Command, option: Option, value: str) -> None:
    command.timeouts[option.detail] = _seconds(value, option.name)


def _put_data_into_url(command: _Command, _: Option, __: str) -> None:
    command.as_query = True


def _note(command: _Command, option: Option, _: str) -> None:
    command.notes.append(f"{option.name}: {option.detail}")


def _add_header(command: _Command, _: Option, line: str) -> None:
    if line.startswith("@"):
        raise refusal("-H @file: files are not read; write the headers into the command.")
    name, colon, value = line.partition(":")
    if not colon and line.endswith(";"):
        name, value = line[:-1], ""
    elif not colon or not value.strip():
        command.notes.append(f"-H {line.strip()!r} takes away a header of curl; it is left out.")
        return
    _set_header(command, name.strip(), value.strip())


def _set_header(command: _Command, name: str, value: str) -> None:
    problem = check_header(name, value)
    if problem == "header_reserved":
        command.notes.append(f"The header {name} is left out; Punctual sets it itself.")
    elif problem:
        raise refusal(f"The header {name!r} is not valid: visible ASCII in one line is allowed.")
    else:
        for known in [known for known in command.headers if known.lower() == name.lower()]:
            command.notes.append(f"The header {known} is given twice; the last one is taken.")
            del command.headers[known]
        command.headers[name] = value


def _add_cookie(command: _Command, _: Option, value: str) -> None:
    if "=" not in value:
        raise refusal("-b FILE: files are not read; write the cookies as name=value.")
    _set_header(command, "Cookie", value)


def _add_data(command: _Command, option: Option, value: str) -> None:
    if value.startswith("@") and option.detail != "raw":
        raise refusal(f"{option.name} {value}: files are not read; paste the data itself.")
    if option.detail == "urlencode":
        name, equals, plain = value.partition("=")
        if not equals:
            raise refusal(f"{option.name}: give name=value.")
        value = f"{name}={quote(plain)}" if name else quote(plain)
    command.is_json = command.is_json or option.kind is Kind.JSON
    command.data.append(value)


def _add_user(command: _Command, _: Option, value: str) -> None:
    if ":" not in value:
        raise refusal("-u: curl would ask for the password; give user:password.")
    coded = base64.b64encode(value.encode()).decode()
    _set_header(command, "Authorization", f"Basic {coded}")
    command.notes.append("-u became the header Authorization, which is stored encrypted.")


def _seconds(value: str, name: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise refusal(f"{name}: {value!r} is not a number of seconds.")
    return int(seconds) if seconds.is_integer() else seconds


_ACTIONS: Mapping[Kind, Callable[[_Command, Option, str], None]] = {
    Kind.URL: _add_url,
    Kind.METHOD: _choose_method,
    Kind.HEADER: _add_header,
    Kind.HEADER_VALUE: _set_known_header,
    Kind.COOKIE: _add_cookie,
    Kind.DATA: _add_data,
    Kind.JSON: _add_data,
    Kind.USER: _add_user,
    Kind.TIMEOUT: _set_timeout,
    Kind.QUERY: _put_data_into_url,
    Kind.NOTE: _note,
}


def _pasted(command: _Command) -> Pasted:
    url = _url(command)
    sends = bool(command.data) and not command.as_query
    method = command.method or ("POST" if sends else "GET")
    if method not in METHODS:
        raise refusal(f"The method {method} is not supported; use {', '.join(METHODS)}.")
    payload = _payload(command) if sends else None
    if sends and method in ("GET", "HEAD"):
        command.notes.append(f"A {method} carries no payload; the data is left out.")
        payload = None
    target: dict[str, Any] = {"url": url, "method": method}
    if command.headers:
        target["headers"] = command.headers
    definition: dict[str, Any] = {"name": _name(method, url), "target": target | command.timeouts}
    if payload is not None:
        definition["payload"] = payload
    return Pasted(definition, tuple(dict.fromkeys(command.notes)))


def _url(command: _Command) -> str:
    if not command.urls:
        raise refusal("The command has no URL.")
    if len(command.urls) > 1:
        raise refusal("The command has more than one URL; a task calls one.")
    url = command.urls[0]
    if "://" not in url:
        url = f"http://{url}"
        command.notes.append("The URL has no scheme; curl would use http, so it is http://.")
    if command.as_query and command.data:
        mark = "&" if urlsplit(url).query else "?"
        url += mark + "&".join(command.data)
    return url


def _payload(command: _Command) -> Any:
    """Return what is sent; Punctual sends JSON, so a form becomes an object of its fields."""
    text = "".join(command.data) if command.is_json else "&".join(command.data)
    content_type = next((n for n in command.headers if n.lower() == "content-type"), None)
    try:
        payload = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        payload = None
    else:
        if content_type is None and not command.is_json:
            command.notes.append("The data is JSON; it is sent as application/json.")
        return payload
    fields = parse_qsl(text, keep_blank_values=True) if "=" in text else []
    if command.is_json or not fields:
        raise refusal("The data is not JSON; Punctual sends JSON.")
    if content_type is not None:
        if not command.headers[content_type].lower().startswith(_FORM):
            raise refusal(f"The data is not JSON, and {command.headers[content_type]} is not sent.")
        del command.headers[content_type]
    command.notes.append("Punctual sends JSON: the form's fields are sent as a JSON object.")
    return _object_of(fields)


def _object_of(fields: list[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return {name: held[0] if len(held) == 1 else held for name, held in values.items()}


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _name(method: str, url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise refusal("The URL is not valid.") from error
    place = "".join(_printable(f"{parts.hostname or ''}{parts.path}".rstrip("/")))
    text = f"{method} {place}"
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1]}…"


def _printable(text: str) -> Iterator[str]:
    return (letter if letter.isprintable() else "?" for letter in text)
