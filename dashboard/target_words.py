"""A target in words: the call of a task and its settings; for the pages of tasks and executions.

Pure. The words never contain secrets, only the fact that there are some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from shared.duration_words import duration_text
from shared.payload_sight import hide_url, is_hidden

_AUTH = {
    "basic": "a user name and password",
    "bearer": "a bearer token",
    "api_key": "an API key",
    "oauth2": "OAuth 2 client credentials",
}


@dataclass(frozen=True, slots=True)
class TargetWords:
    """A target: its kind in words, its verb and its name, and facts about it."""

    kind: str
    verb: str
    name: str
    facts: tuple[tuple[str, str], ...]
    #: The page of the console to link: ("destination" or "pool", its name).
    place: tuple[str, str] | None = None


def describe_target(target: Mapping[str, Any], destination: str = "") -> TargetWords:
    """Return the words of a target in normal form; ``destination`` is the host of a webhook."""
    words = _BRIEF if is_hidden() else _WORDS
    return words[target["kind"]](target, destination)


def _webhook(target: Mapping[str, Any], destination: str) -> TargetWords:
    facts = [("Time limit", f"{_seconds(target['timeout_seconds'])} per attempt")]
    facts.append(("Success", _success(target["success"])))
    if target["auth"]:
        facts.append(("Authenticates with", _AUTH.get(target["auth"]["type"], "")))
    if target["completion"] == "callback":
        heard = _seconds(target["heartbeat_timeout_seconds"])
        facts.append(("Long job", f"ended by its receiver, given up after {heard} of silence"))
        facts += _longest(target)
    tls = target["tls"] or {}
    if tls:
        verified = "checked" if tls.get("verify", True) else "not checked"
        own = ", with a client certificate" if tls.get("client_certificate") else ""
        facts.append(("Certificate", f"{verified}{own}"))
    if target["proxy"]:
        facts.append(("Proxy", str(target["proxy"]["url"])))
    if target["follow_redirects"]:
        facts.append(("Redirects", "are followed"))
    if target["body_format"] == "raw":
        facts.append(("Body", "the payload as it is"))
    if target["template"]:
        facts.append(("Templates", "are filled in"))
    place = ("destination", destination) if destination else None
    return TargetWords("webhook", target["method"], target["url"], tuple(facts), place)


def _pool(target: Mapping[str, Any], _: str) -> TargetWords:
    facts: list[tuple[str, str]] = []
    if target["requires"]:
        labels = ", ".join(f"{name}={value}" for name, value in target["requires"].items())
        facts.append(("Only workers with", labels))
    facts += _longest(target)
    place = ("pool", str(target["pool"]))
    return TargetWords("workers of a pool", "lease", target["handler"], tuple(facts), place)


def _handler(target: Mapping[str, Any], _: str) -> TargetWords:
    return TargetWords("handler in Python", "call", target["handler"], tuple(_run_facts(target)))


def _command(target: Mapping[str, Any], _: str) -> TargetWords:
    facts = _run_facts(target)
    codes = ", ".join(str(code) for code in target["success_exit_codes"])
    facts.append(("Success", f"exit code {codes}"))
    if target["environment"]:
        facts.append(("Environment", ", ".join(target["environment"])))
    if target["memory_bytes"]:
        facts.append(("Memory", f"at most {target['memory_bytes']:,} bytes"))
    words = " ".join([target["command"], *(_quoted(one) for one in target["arguments"])])
    return TargetWords("command", "run", words, tuple(facts))


_WORDS: Mapping[str, Callable[[Mapping[str, Any], str], TargetWords]] = {
    "webhook": _webhook,
    "pool": _pool,
    "handler": _handler,
    "command": _command,
}


def _brief_webhook(target: Mapping[str, Any], destination: str) -> TargetWords:
    place = ("destination", destination) if destination else None
    return TargetWords("webhook", target["method"], hide_url(target["url"]), (), place)


def _brief_command(target: Mapping[str, Any], _: str) -> TargetWords:
    return TargetWords("command", "run", target["command"], tuple(_run_facts(target)))


#: For those who do not see payloads: no arguments, no query, no rule of what an answer has to hold.
_BRIEF: Mapping[str, Callable[[Mapping[str, Any], str], TargetWords]] = {
    **_WORDS,
    "webhook": _brief_webhook,
    "command": _brief_command,
}


def _run_facts(target: Mapping[str, Any]) -> list[tuple[str, str]]:
    limit, grace = target["timeout_seconds"], target["cancel_grace_seconds"]
    return [
        ("Worker pool", str(target["pool"])),
        ("Time limit", f"{_seconds(limit)}, then {_seconds(grace)} to end in"),
    ]


def _longest(target: Mapping[str, Any]) -> list[tuple[str, str]]:
    longest = target["max_runtime_seconds"]
    return [] if longest is None else [("Longest run", _seconds(longest))]


def _success(success: Mapping[str, Any]) -> str:
    found = [f"status {', '.join(success['statuses'])}"]
    if header := success.get("header"):
        found.append(f"header {header['name']} matches {header['pattern']}")
    if pattern := success.get("body_pattern"):
        found.append(f"body matches {pattern}")
    if body := success.get("json"):
        found.append(f"{body['path']} is {orjson.dumps(body['equals']).decode()}")
    return "; ".join(found)


def _seconds(value: float) -> str:
    return duration_text(value * 1000)


def _quoted(argument: str) -> str:
    """Return an argument as one word; it is never given to a shell."""
    plain = argument and argument.isprintable() and not set(argument) & set(" \"'")
    return argument if plain else repr(argument)
