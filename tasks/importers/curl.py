"""Reads a pasted curl command into a task's definition.

Called by the form for new tasks and for single crontab lines. The command is never run and no
file is read. A note explains each difference from curl; an option that Punctual does not support
is refused with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from shared.exceptions import FieldError, InvalidInput
from shared.http_headers import check_header
from tasks.choices import METHODS
from tasks.importers.curl_body import body_of, encoded
from tasks.importers.curl_options import Kind, Option, split_options
from tasks.importers.curl_url import Called, called_url, credentials_of, proxy_of
from tasks.importers.shell_words import ShellWordsError, Words, split_words
from tasks.importers.windows_words import is_for_windows, split_windows_words
from tasks.limits import NAME_LENGTH

_LONGEST = 256 * 1024
_PROMPT = re.compile(r"[$%>#] +(?=curl)")
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_BODILESS = ("GET", "HEAD")
#: The quotes and dashes that documents put in place of plain ones.
_TYPOGRAPHIC = re.compile(r"^[\u2018-\u201f\u00ab]|^[\u2010-\u2015\u2212]+[A-Za-z]|[\u2019\u201d]$")


@dataclass(frozen=True, slots=True)
class Pasted:
    """A definition's body as far as the text gave it, and notes on the omitted parts."""

    definition: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Command:
    urls: list[str] = field(default_factory=list)
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    query: list[str] = field(default_factory=list)
    is_json: bool = False
    as_query: bool = False
    is_globbed: bool = True
    follows: bool = False
    #: User and password, or a token; ``-u`` takes precedence over the URL.
    auth: dict[str, str] | None = None
    proxy: dict[str, Any] | None = None
    proxy_user: str | None = None
    timeouts: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def is_curl(text: str) -> bool:
    """Return whether the text is a call of curl."""
    first = text.split(None, 1)[:1]
    return bool(first) and PurePath(first[0].strip('"')).name in ("curl", "curl.exe")


def without_prompt(text: str) -> str:
    """Return the text without blanks around it and without a shell's prompt before it."""
    return _PROMPT.sub("", text.strip(), count=1) if _PROMPT.match(text.strip()) else text.strip()


def parse_curl(text: str) -> Pasted:
    """Return the definition's name, target and payload; raise InvalidInput."""
    if len(text) > _LONGEST:
        raise refusal(f"The command is longer than {_LONGEST // 1024} KiB.")
    found = _words(without_prompt(text))
    if not found.words or not is_curl(found.words[0]):
        raise refusal("Paste a command that begins with curl.")
    command = _Command(notes=list(found.notes))
    for option, value in split_options(found.words[1:], refusal):
        _apply(command, option, value)
    if found.redirections:
        command.notes.append("Where the output goes is left out; the answer is kept as a result.")
    return _pasted(command)


def refusal(message: str) -> InvalidInput:
    """Return the error for a part that cannot be taken over."""
    return InvalidInput([FieldError("#", "invalid_paste", message)], message)


def _words(text: str) -> Words:
    try:
        return split_windows_words(text) if is_for_windows(text) else split_words(text)
    except ShellWordsError as error:
        raise refusal(str(error)) from error


def _refuse_typography(word: str) -> None:
    """Refuse quotes and dashes of a document, which change the words of a command."""
    if _TYPOGRAPHIC.search(word):
        raise refusal(
            f"{word[:40]!r} has a quote or dash of a document; write ' or \" and - as a shell has "
            "them."
        )


def _apply(command: _Command, option: Option | None, value: str) -> None:
    if option is None:
        _refuse_typography(value)
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
    _set_header(command, option.detail, option.prefix + value.removesuffix(";auto"))


def _set_timeout(command: _Command, option: Option, value: str) -> None:
    if not _SECONDS.fullmatch(value):
        raise refusal(f"{option.name}: {value[:40]!r} is not a number of seconds.")
    seconds = float(value)
    if not seconds:
        command.timeouts.pop(option.detail, None)
        command.notes.append(f"{option.name}: every call has a limit; the default holds.")
        return
    command.timeouts[option.detail] = int(seconds) if seconds.is_integer() else seconds


def _put_data_into_url(command: _Command, _: Option, __: str) -> None:
    command.as_query = True


def _add_to_query(command: _Command, option: Option, value: str) -> None:
    if value.startswith("+"):
        command.query.append(value[1:])
        return
    command.query.append(_encoded(option, value))


def _leave_globs(command: _Command, _: Option, __: str) -> None:
    command.is_globbed = False


def _follow(command: _Command, option: Option, _: str) -> None:
    command.follows = True
    if option.detail:
        _note(command, option, "")


def _note(command: _Command, option: Option, _: str) -> None:
    command.notes.append(f"{option.name}: {option.detail}")


def _add_header(command: _Command, _: Option, line: str) -> None:
    if line.startswith("@"):
        raise refusal("-H @file: files are not read; write the headers into the command.")
    if line.startswith(":"):
        command.notes.append(f"-H {line[:60]!r} is left out; HTTP/1.1 has no such header.")
        return
    name, colon, value = line.partition(":")
    _refuse_typography(name)
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
    if not value:
        return  # It only makes curl keep cookies for the next call.
    if "=" not in value:
        raise refusal("-b FILE: files are not read; write the cookies as name=value.")
    _set_header(command, "Cookie", value)


def _add_data(command: _Command, option: Option, value: str) -> None:
    if value.startswith("@") and option.detail != "raw":
        raise refusal(f"{option.name} {value}: files are not read; paste the data itself.")
    if option.detail == "urlencode":
        value = _encoded(option, value)
    command.is_json = command.is_json or option.kind is Kind.JSON
    command.data.append(value)


def _encoded(option: Option, value: str) -> str:
    text = encoded(value)
    if text is None:
        raise refusal(f"{option.name} {value}: files are not read; paste the data itself.")
    return text


def _add_user(command: _Command, _: Option, value: str) -> None:
    user, colon, password = value.partition(":")
    if not colon:
        raise refusal("-u: curl would ask for the password; give user:password.")
    command.auth = {"type": "basic", "username": user, "password": password}


def _add_token(command: _Command, _: Option, value: str) -> None:
    command.auth = {"type": "bearer", "token": value}


def _choose_proxy(command: _Command, option: Option, value: str) -> None:
    command.proxy = _url_read(proxy_of, value, option.name) if value else None


def _add_proxy_user(command: _Command, _: Option, value: str) -> None:
    command.proxy_user = value


_ACTIONS: Mapping[Kind, Callable[[_Command, Option, str], None]] = {
    Kind.URL: _add_url,
    Kind.METHOD: _choose_method,
    Kind.HEADER: _add_header,
    Kind.HEADER_VALUE: _set_known_header,
    Kind.COOKIE: _add_cookie,
    Kind.DATA: _add_data,
    Kind.JSON: _add_data,
    Kind.URL_QUERY: _add_to_query,
    Kind.USER: _add_user,
    Kind.BEARER: _add_token,
    Kind.PROXY: _choose_proxy,
    Kind.PROXY_USER: _add_proxy_user,
    Kind.REDIRECTS: _follow,
    Kind.GLOBOFF: _leave_globs,
    Kind.TIMEOUT: _set_timeout,
    Kind.QUERY: _put_data_into_url,
    Kind.NOTE: _note,
}


def _pasted(command: _Command) -> Pasted:
    called = _called(command)
    sends = bool(command.data) and not command.as_query
    method = command.method or ("POST" if sends else "GET")
    if method not in METHODS:
        raise refusal(f"The method {method[:40]} is not supported; use {', '.join(METHODS)}.")
    target: dict[str, Any] = {"url": called.url, "method": method}
    definition: dict[str, Any] = {"name": _name(method, called), "target": target}
    if sends and method in _BODILESS:
        command.notes.append(f"A {method} carries no payload; the data is left out.")
    elif sends:
        _add_body(command, definition)
    _add_proof(command, called, target)
    if command.headers:
        target["headers"] = command.headers
    if command.follows:
        target["follow_redirects"] = True
    if proxy := _proxy(command):
        target["proxy"] = proxy
    target |= command.timeouts
    return Pasted(definition, tuple(dict.fromkeys(command.notes)))


def _add_body(command: _Command, definition: dict[str, Any]) -> None:
    text = "".join(command.data) if command.is_json else "&".join(command.data)
    body = body_of(text, command.headers, is_json=command.is_json)
    command.notes += body.notes
    if body.content_type is not None:
        command.headers["Content-Type"] = body.content_type
    if body.payload is not None:
        definition["payload"] = body.payload
        definition["target"]["body_format"] = body.format


def _add_proof(command: _Command, called: Called, target: dict[str, Any]) -> None:
    """Add the caller's proof; as in curl, a header precedes ``-u``, and ``-u`` the URL."""
    auth = command.auth or called.auth
    if called.auth:
        command.notes.append("The user in the URL became the task's authentication.")
    if auth is None:
        return
    if any(name.lower() == "authorization" for name in command.headers):
        command.notes.append("The header Authorization takes the place of the user or token.")
    elif auth["type"] == "basic" and not (auth["username"] and auth["password"]):
        # Stripe and others take a key as the user, with an empty password.
        name, value = credentials_of(auth)
        command.headers[name] = value
        command.notes.append(
            "User or password is empty, so they became the header Authorization, stored encrypted."
        )
    else:
        target["auth"] = auth


def _proxy(command: _Command) -> dict[str, Any] | None:
    if command.proxy is None:
        return None
    user, colon, password = (command.proxy_user or "").partition(":")
    return command.proxy | ({"username": user, "password": password} if colon else {})


def _called(command: _Command) -> Called:
    if not command.urls:
        raise refusal("The command has no URL.")
    if len(command.urls) > 1:
        raise refusal("The command has more than one URL; a task calls one.")
    (url,) = command.urls
    if "://" not in url:
        url = f"http://{url}"
        command.notes.append("The URL has no scheme; curl would use http, so it is http://.")
    parts = [*(command.data if command.as_query else ()), *command.query]
    called: Called = _url_read(called_url, url, "The URL", parts)
    if command.is_globbed and called.is_globbed:
        raise refusal("Braces or brackets of the URL name several addresses; a task calls one.")
    return called


def _url_read(read: Callable[..., Any], text: str, name: str, *more: Any) -> Any:
    try:
        return read(text, *more)
    except ValueError as error:
        raise refusal(f"{name}: {error}") from error


def _name(method: str, called: Called) -> str:
    # Without the path: a name is shown and kept in clear, and paths hold tokens.
    text = f"{method} {''.join(_printable(called.host))}"
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1]}…"


def _printable(text: str) -> Iterator[str]:
    return (letter if letter.isprintable() else "?" for letter in text)
