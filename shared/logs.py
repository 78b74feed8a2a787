"""Log lines: a constant message and fields, on stderr (stdout belongs to commands' data).

Django calls :func:`configure` through ``LOGGING_CONFIG``. Lines are for people by default and
one JSON object each with ``json``. Fields bound to structlog's context (``trace_id``,
``tenant_id``) are on every line. Secrets are masked. Control characters are escaped, so that no
value can forge a line.
"""

from __future__ import annotations

import logging.config
import re
import sys
from collections.abc import Mapping
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from shared.redaction import MASK, is_sensitive, redact

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Fields that keep their line breaks; no client writes them.
_MULTILINE = frozenset({"exception", "stack"})


def configure(config: Mapping[str, Any]) -> None:
    """Send every log line of the process through one handler; ``config`` has level and json."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        _mask_secrets,
    ]
    as_json = bool(config.get("json"))
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        *(_json_lines() if as_json else _human_lines()),
                    ],
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
            "root": {"handlers": ["stderr"], "level": config.get("level", "INFO")},
            "loggers": {
                "django": {"handlers": [], "propagate": True},
                "django.server": {"handlers": [], "propagate": True},
                # A client's mistakes are answers, not news for the operator.
                "django.request": {"level": "ERROR"},
                "django.security.DisallowedHost": {"level": "CRITICAL"},
                "uvicorn.access": {"level": "WARNING"},
            },
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _json_lines() -> list[Processor]:
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]


def _human_lines() -> list[Processor]:
    return [
        structlog.processors.format_exc_info,
        _escape_control_characters,
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        ),
    ]


def _mask_secrets(logger: WrappedLogger, method: str, event_dict: EventDict) -> EventDict:
    for name, value in event_dict.items():
        if name.startswith("_") or value is None:
            continue
        event_dict[name] = MASK if is_sensitive(name) else redact(value)
    return event_dict


def _escape_control_characters(
    logger: WrappedLogger, method: str, event_dict: EventDict
) -> EventDict:
    for name, value in event_dict.items():
        if isinstance(value, str) and name not in _MULTILINE:
            event_dict[name] = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    return event_dict
