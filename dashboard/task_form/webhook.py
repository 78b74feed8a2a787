"""The webhook in the task's form: the request, success, authentication, TLS and proxy.

``dashboard.task_form.target`` reads and shows it. A stored secret is a mask here, and its field is
empty. An empty field keeps the mask, which validation replaces, if the kind of authentication is
unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from dashboard.task_form.values import (
    Form,
    exact_text,
    read_number,
    read_pairs,
    read_words,
    show_plain,
    text_block,
    yes_or_no,
)
from shared.exceptions import InvalidInput
from shared.named_secrets.references import shows_no_secret
from shared.redaction import MASK
from shared.strict_json import read_json_or_word
from tasks.masking import SECRET_FIELDS

#: The fields of a new form.
EMPTY: Mapping[str, str] = {
    "method": "POST",
    "body_format": "json",
    "timeout_seconds": "30",
    "connect_timeout_seconds": "5",
    "success_statuses": "2xx",
    "auth_type": "none",
    "auth_in": "header",
    "tls_verify": "yes",
    "template": "no",
    "follow_redirects": "no",
    "completion": "response",
    "heartbeat_timeout_seconds": "300",
}
#: Pointer within the target -> field.
FIELD_OF = {
    "success": "success_statuses",
    "success/header": "success_header_name",
    "success/header/pattern": "success_header_pattern",
    "success/body_pattern": "success_body_pattern",
    "success/json": "success_json_path",
    "success/json/equals": "success_json_equals",
    "auth": "auth_type",
    "tls": "tls_verify",
    "proxy": "proxy_url",
    **{
        name: name
        for name in (
            "url",
            "method",
            "headers",
            "body_format",
            "timeout_seconds",
            "connect_timeout_seconds",
            "completion",
            "heartbeat_timeout_seconds",
            "max_runtime_seconds",
            "template",
            "follow_redirects",
        )
    },
}
AUTH_PARTS: Mapping[str, tuple[str, ...]] = {
    "basic": ("username", "password"),
    "bearer": ("token",),
    "api_key": ("name", "value", "in"),
    "oauth2": ("token_url", "client_id", "client_secret", "scope", "audience"),
}
_TLS_TEXTS = ("ca_certificates", "client_certificate")
_SECRETS = SECRET_FIELDS["auth"]
_OPTIONAL = ("scope", "audience")
_PLAIN = (
    "url",
    "method",
    "body_format",
    "completion",
    "timeout_seconds",
    "connect_timeout_seconds",
    "heartbeat_timeout_seconds",
    "max_runtime_seconds",
)
_SUCCESS = (
    "success_statuses",
    "success_header_name",
    "success_header_pattern",
    "success_body_pattern",
    "success_json_path",
    "success_json_equals",
)
FIELD_OF |= {
    f"auth/{part}": f"auth_{part}" for parts in AUTH_PARTS.values() for part in ("type", *parts)
}
FIELD_OF |= {f"tls/{part}": f"tls_{part}" for part in ("verify", *_TLS_TEXTS, "client_key")}
FIELD_OF |= {f"proxy/{part}": f"proxy_{part}" for part in ("url", "username", "password")}


def show_webhook(target: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that show a webhook, or as much of it as is given."""
    shown = {name: show_plain(target[name]) for name in _PLAIN if target.get(name) is not None}
    for name in ("template", "follow_redirects"):
        if name in target:
            shown[name] = yes_or_no(target[name])
    headers = (target.get("headers") or {}).items()
    shown["headers"] = "\n".join(f"{name}: {value}" for name, value in headers)
    shown |= _show_success(target.get("success") or {})
    auth, tls, proxy = (target.get(name) or {} for name in ("auth", "tls", "proxy"))
    shown |= {
        f"auth_{part}": show_plain(value)
        for part, value in auth.items()
        if value is not None and not (part in _SECRETS and value == MASK)
    }
    shown |= {f"tls_{part}": tls.get(part) or "" for part in _TLS_TEXTS}
    if "verify" in tls:
        shown["tls_verify"] = yes_or_no(tls["verify"])
    shown |= {f"proxy_{part}": proxy.get(part) or "" for part in ("url", "username")}
    password = proxy.get("password")
    return shown | ({"proxy_password": password} if password and password != MASK else {})


def stored_secrets(target: Mapping[str, Any]) -> list[str]:
    """Return the fields whose secret is stored; they are shown empty."""
    auth, tls, proxy = (target.get(name) or {} for name in ("auth", "tls", "proxy"))
    found = [
        f"auth_{part}"
        for part in _SECRETS
        # A name of a secret is shown.
        if auth.get(part) and not shows_no_secret(auth[part])
    ]
    found += ["tls_client_key"] if tls.get("client_key") else []
    return found + (["proxy_password"] if proxy.get("password") else [])


def read_webhook(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target that the form describes; ``base`` is what it showed at first."""
    completion = form.text("completion", EMPTY["completion"])
    longest = read_number(form, "max_runtime_seconds", "#/target/max_runtime_seconds")
    if completion == "response":
        # Hidden in the form then, and refused: the time limit of the attempt ends a call.
        longest = {"max_runtime_seconds": None}
    return {
        **base,
        "url": form.text("url"),
        "method": form.fields.get("method", EMPTY["method"]),
        "headers": _read_headers(form, base.get("headers", {})),
        "body_format": form.text("body_format", EMPTY["body_format"]),
        "completion": completion,
        "template": form.text("template") == "yes",
        "follow_redirects": form.text("follow_redirects") == "yes",
        "success": _read_success(form, base),
        "auth": _read_auth(form, base.get("auth") or {}),
        "tls": _read_tls(form, base),
        "proxy": _read_proxy(form, base),
        **read_number(form, "timeout_seconds", "#/target/timeout_seconds", keep=False),
        **_number(form, "connect_timeout_seconds"),
        **_number(form, "heartbeat_timeout_seconds"),
        **longest,
    }


def _number(form: Form, name: str) -> dict[str, Any]:
    return read_number(form, name, f"#/target/{name}", keep=False)


def _read_headers(form: Form, base: Mapping[str, str]) -> dict[str, str]:
    if form.same("headers"):
        return dict(base)
    return read_pairs(form, "headers", ":", "#/target/headers")


def _show_success(success: Mapping[str, Any]) -> dict[str, str]:
    header, body = success.get("header") or {}, success.get("json") or {}
    shown = {
        "success_header_name": header.get("name") or "",
        "success_header_pattern": header.get("pattern") or "",
        "success_body_pattern": success.get("body_pattern") or "",
        "success_json_path": body.get("path") or "",
        "success_json_equals": _show_scalar(body["equals"]) if "equals" in body else "",
    }
    if "statuses" in success:
        shown["success_statuses"] = ", ".join(success["statuses"])
    return shown


def _read_success(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    before = base.get("success")
    if before and form.same(*_SUCCESS):
        return dict(before)
    success: dict[str, Any] = {"statuses": read_words(form, "success_statuses")}
    names = ("success_header_name", "success_header_pattern")
    if any(form.text(name) for name in names):
        name, pattern = (form.text(one) for one in names)
        success["header"] = {"name": name, "pattern": pattern}
    if pattern := form.text("success_body_pattern"):
        success["body_pattern"] = pattern
    path, equals = form.text("success_json_path"), form.text("success_json_equals")
    if path or equals:
        at = "#/target/success/json/equals"
        success["json"] = {"path": path, "equals": form.read(read_json_or_word, equals, at)}
    return success


def _show_scalar(value: Any) -> str:
    """Return a JSON scalar as a person writes it: words without quotes where nothing else fits."""
    if isinstance(value, str) and value == value.strip() and value and _is_word(value):
        return value
    return orjson.dumps(value).decode()


def _is_word(text: str) -> bool:
    """Return whether the form reads the text as itself."""
    try:
        return bool(read_json_or_word(text) == text)
    except InvalidInput:
        return False


def _read_auth(form: Form, base: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = form.text("auth_type", "none")
    if kind == "none":
        return None
    if kind not in AUTH_PARTS:
        form.refuse("#/target/auth/type", "invalid_choice", "Choose one of the kinds.")
        return None
    before = base if base.get("type") == kind else {}
    auth: dict[str, Any] = {"type": kind}
    for part in AUTH_PARTS[kind]:
        if part in _SECRETS:
            auth[part] = _read_secret(form, f"auth_{part}", before.get(part))
            continue
        text = exact_text(form, f"auth_{part}", before.get(part))
        auth[part] = text or (None if part in _OPTIONAL else "")
    return auth


def _read_secret(form: Form, name: str, before: Any) -> str:
    """Return the typed text, or the stored value of an empty field."""
    typed = form.fields.get(name, "")
    return typed if typed or before is None else str(before)


def _read_tls(form: Form, base: Mapping[str, Any]) -> dict[str, Any] | None:
    before = base.get("tls") or {}
    shown = tuple(f"tls_{part}" for part in ("verify", *_TLS_TEXTS))
    if "tls" in base and form.same(*shown) and not form.text("tls_client_key"):
        return base["tls"] and dict(before)
    tls: dict[str, Any] = {"verify": form.text("tls_verify", "yes") != "no"}
    for part in _TLS_TEXTS:
        tls[part] = text_block(form, f"tls_{part}", before.get(part))
    stored = before.get("client_key") if tls["client_certificate"] else None
    tls["client_key"] = text_block(form, "tls_client_key", None) or stored
    return tls if tls != {"verify": True, **dict.fromkeys((*_TLS_TEXTS, "client_key"))} else None


def _read_proxy(form: Form, base: Mapping[str, Any]) -> dict[str, Any] | None:
    before = base.get("proxy") or {}
    url = form.text("proxy_url")
    if not url:
        return None
    username = exact_text(form, "proxy_username", before.get("username")) or None
    stored = before.get("password") if username else None
    password = _read_secret(form, "proxy_password", stored) or None
    if not username and password == before.get("password"):
        password = None  # It belongs to the removed name.
    return {"url": url, "username": username, "password": password}
