"""Log lines: an event of the catalogue and its fields, on stderr; stdout has the data of commands.

Django calls :func:`configure` through ``LOGGING_CONFIG``. Lines are for people by default and one
JSON object each with ``json``: time, level, logger, process, event, message, then the fields and
the ids of the work under way. Secrets are masked, also in tracebacks. Control characters are
escaped, so that no value can forge a line.
"""

from __future__ import annotations

import json
import logging.config
import math
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from shared.log_context import add_ids
from shared.log_events import EVENTS, LIBRARY, OUTPUT
from shared.log_events.fields import OF_EVERY_LINE
from shared.log_output import LineHandler, real_stderr
from shared.redaction import MASK, is_sensitive, redact, redact_text

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Fields that keep their line breaks; no client writes them.
_MULTILINE = frozenset({"exception", "stack"})
_PLAIN = (str, int, float, bool, list, dict)
# Libraries add whole requests, and the arguments of jobs, which may hold anything.
_LEFT_OUT_OF_LIBRARIES = ("request", "data")
_RUN = "run_"
_OUTPUT_LOGGER = "punctual.output"
#: The supervisor reads 16 KB of a line at once, and collectors have limits of their own.
_LONGEST_LINE = 15_000
_LONGEST_TEXT, _LONGEST_LIST = 1_500, 100
#: Settings of single loggers.
_LOGGERS: dict[str, Any] = {
    "django": {"handlers": [], "propagate": True},
    "django.server": {"handlers": [], "propagate": True},
    # A client's mistakes are answers, not news for the operator.
    "django.request": {"level": "ERROR"},
    "django.security.DisallowedHost": {"level": "CRITICAL"},
    "uvicorn.access": {"level": "WARNING"},
    # It says of every batch and every job that it came and went.
    "celery": {"level": "WARNING"},
    # Output past the log is no less than the log's own.
    _OUTPUT_LOGGER: {"level": "INFO"},
}


def configure(config: Mapping[str, Any]) -> None:
    """Send every log line of the process through one handler; ``config`` has level and json."""
    shared: list[Processor] = [
        add_ids,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.StackInfoRenderer(),
    ]
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": [
                        _stamp,
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        structlog.processors.format_exc_info,
                        _name_event,
                        _mask_secrets,
                        *(_json_lines() if config.get("json") else _human_lines()),
                    ],
                }
            },
            "handlers": {
                "stderr": {
                    "()": LineHandler,
                    "stream": real_stderr(),
                    "formatter": "structured",
                }
            },
            "root": {"handlers": ["stderr"], "level": config.get("level", "INFO")},
            "loggers": _LOGGERS,
        }
    )
    if config.get("json"):
        logging.captureWarnings(True)
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


def time_text(seconds: float) -> str:
    """Return a time since 1970 as lines have it: ISO 8601 in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def process_kind() -> str:
    """Return the kind of this process: as the supervisor says, or by its command."""
    command = "".join(sys.argv[1:2])
    ran = command.removeprefix(_RUN) if command.startswith(_RUN) else "command"
    return os.environ.get("PROCESS_KIND") or ran


def line_of_output(source: str, text: str) -> str:
    """Return the log line about a line that another process has written past the log."""
    record = logging.makeLogRecord(
        {"name": _OUTPUT_LOGGER, "levelno": logging.INFO, "levelname": "INFO", "msg": OUTPUT}
        | {"source": source, "text": text}
    )
    [formatter] = [one.formatter for one in logging.getLogger().handlers if _is_ours(one)]
    return formatter.format(record) if formatter else text


def _is_ours(handler: logging.Handler) -> bool:
    return isinstance(handler, LineHandler)


def _json_lines() -> list[Processor]:
    kind = process_kind()
    of_process = {"process_kind": kind, "process_name": os.environ.get("PROCESS_NAME", kind)}

    def render(logger: WrappedLogger, method: str, event_dict: EventDict) -> str:
        first = {name: event_dict.pop(name) for name in ("time", "level", "logger")}
        said = {name: event_dict.pop(name) for name in ("pid", "event", "message")}
        return _json_line({**first, **of_process, **said, **event_dict})

    return [render]


def _json_line(facts: dict[str, Any]) -> str:
    """Return the facts as one line of JSON in ASCII: no text in it can end the line."""
    line = json.dumps(facts, default=_as_text)
    if len(line) > _LONGEST_LINE:
        line = json.dumps({name: _cut(value) for name, value in facts.items()}, default=_as_text)
    if len(line) > _LONGEST_LINE:
        kept = {name: facts[name] for name in OF_EVERY_LINE}
        line = json.dumps({**kept, "message": "The line was too long."})
    return line


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        # The end of a traceback says what happened.
        return value if len(value) <= _LONGEST_TEXT else f"...{value[-_LONGEST_TEXT:]}"
    return value[:_LONGEST_LIST] if isinstance(value, list) else value


def _human_lines() -> list[Processor]:
    return [
        _for_people,
        _escape_control_characters,
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            exception_formatter=structlog.dev.plain_traceback,
            timestamp_key="time",
        ),
    ]


def _stamp(logger: WrappedLogger, method: str, event_dict: EventDict) -> EventDict:
    record: logging.LogRecord = event_dict["_record"]
    event_dict["time"] = time_text(record.created)
    event_dict["pid"] = record.process
    return event_dict


def _name_event(logger: WrappedLogger, method: str, event_dict: EventDict) -> EventDict:
    """Take the message of the event from the catalogue; a library's line is its own message."""
    said = event_dict["event"]
    known = EVENTS.get(said)
    if known is not None:
        event_dict["message"] = known.message
        return event_dict
    event_dict["event"], event_dict["message"] = LIBRARY, said
    for name in _LEFT_OUT_OF_LIBRARIES:
        event_dict.pop(name, None)
    return event_dict


def _mask_secrets(logger: WrappedLogger, method: str, event_dict: EventDict) -> EventDict:
    for name, value in event_dict.items():
        if value is None:
            continue
        event_dict[name] = MASK if is_sensitive(name) else _plain(redact(value))
    return event_dict


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, _PLAIN) else _as_text(value)


def _as_text(value: Any) -> str:
    return redact_text(str(value))


def _for_people(logger: WrappedLogger, method: str, event_dict: EventDict) -> EventDict:
    """Join event and message; the supervisor's prefix names the process."""
    event, message = event_dict["event"], event_dict.pop("message")
    event_dict["event"] = message if event == LIBRARY else f"{event}: {message}"
    del event_dict["pid"]
    return event_dict


def _escape_control_characters(
    logger: WrappedLogger, method: str, event_dict: EventDict
) -> EventDict:
    for name, value in event_dict.items():
        if isinstance(value, str) and name not in _MULTILINE:
            event_dict[name] = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    return event_dict
