"""Every setting with its value, where the value comes from, and what it means.

`config show` prints the list of variables with the values in force, `config docs` as
`docs/reference/settings.md`; a test keeps that page current.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from launcher import local_state
from operations.setting_list import SETTINGS
from operations.setting_readers import Setting
from shared.conf import Conf, conf
from shared.redaction import MASK

ENVIRONMENT, DATA_DIRECTORY, DEFAULT = "env", "data directory", "default"


@dataclass(frozen=True, slots=True)
class Reported:
    """A setting as it is in force."""

    name: str
    value: Any
    source: str
    help: str

    def as_json(self) -> dict[str, Any]:
        """Return the form of ``config show --json``."""
        return {
            "name": self.name,
            "value": self.value,
            "source": self.source,
            "help": self.help,
        }


#: Knobs that a variable sets; they are reported under its name.
_SET_BY_VARIABLE = (
    "worker_capacity",
    "retention_days",
    "archive_dir",
    "payload_bytes",
    "webhook_allowed_networks",
    "webhook_allowed_ports",
    "webhook_allow_unverified_tls",
    "handler_modules",
    "handler_slots",
    "allowed_commands",
    "command_variables",
    "command_tenants",
    "command_user",
    "command_slots",
    "public_url",
    "schema_public",
    "processes_public",
    "api_calls_per_second",
    "tiers",
    "encryption_keys",
    "jwt_issuers",
    "oidc_providers",
    "metrics_token",
    "metrics_networks",
    "metrics_tenants",
    "tracing",
    "trace_url",
    "audit_keys",
    "audit_heads_dir",
    "audit_retention_days",
    "usage_retention_days",
)
_DOCUMENTED = re.compile(r"((?:^    #: .*\n)+)    (\w+):", re.MULTILINE)


def report(*, reveal: bool = False) -> list[Reported]:
    """Return every setting as it is in force; secrets are masked unless revealed."""
    found = [_reported(setting, reveal) for group in SETTINGS.values() for setting in group]
    knobs = conf()
    for name, text in fixed_knobs().items():
        found.append(Reported(name, getattr(knobs, name), DEFAULT, text))
    return found


def fixed_knobs() -> dict[str, str]:
    """Return the knobs that no variable sets, each with the comment above it."""
    comments = {
        match[2]: " ".join(line.strip(" #:") for line in match[1].splitlines())
        for match in _DOCUMENTED.finditer(inspect.getsource(Conf))
    }
    names = (knob.name for knob in fields(Conf) if knob.name not in _SET_BY_VARIABLE)
    return {name: comments[name] for name in names}


def reference_page() -> str:
    """Return ``docs/reference/settings.md``."""
    return "\n".join([*_page_lines(), ""])


def _page_lines() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "Generated: `python manage.py config docs > docs/reference/settings.md`."
    yield ""
    yield "Every variable may be given in a file instead: `SECRET_KEY_FILE=/path` is read where"
    yield "`SECRET_KEY` is not set; this holds for the texts and secrets. `up` keeps what it"
    yield "generates in the data directory. `python manage.py config show` prints what is in force."
    for heading, group in SETTINGS.items():
        yield from ("", f"## {heading}", "", "| Variable | Default | Meaning |", "|---|---|---|")
        for setting in group:
            default = f"`{setting.default}`" if setting.default else "empty"
            yield f"| `{setting.name}` | {default} | {setting.help} |"
    yield from ("", "## Fixed knobs", "")
    yield "No variable changes these; they stand in `shared/conf.py`, checked against each other."
    yield from ("", "| Knob | Value | Meaning |", "|---|---|---|")
    defaults = Conf()
    for name, text in fixed_knobs().items():
        yield f"| `{name}` | `{getattr(defaults, name)}` | {text} |"


def _reported(setting: Setting, reveal: bool) -> Reported:
    value = setting.read()
    if setting.secret and not reveal:
        value = masked(value)
    return Reported(setting.name, _plain(value), source_of(setting), setting.help)


def source_of(setting: Setting) -> str:
    """Return where the value comes from, in the order in which the settings look."""
    if setting.name in os.environ or os.environ.get(f"{setting.name}_FILE"):
        return ENVIRONMENT
    directory = local_state.data_dir()
    kept: Mapping[str, Any] = {
        **local_state.load_secrets(directory),
        **local_state.load_runtime(directory),
    }
    return DATA_DIRECTORY if setting.stored and kept.get(setting.stored) else DEFAULT


def masked(value: Any) -> Any:
    """Return a secret with its secret parts masked: a URL keeps its address, keys their ids."""
    if not value:
        return value
    text = str(value)
    if '"' in text:
        # JSON, which may hold URLs and secrets side by side.
        return MASK
    if "://" in text:
        password = urlsplit(text).password
        return text.replace(f":{password}@", f":{MASK}@", 1) if password else text
    if ":" in text:
        parts = (word.partition(":") for word in text.split())
        return " ".join(f"{name}:{MASK}" if mark else MASK for name, mark, _ in parts)
    return MASK


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
