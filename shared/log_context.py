"""The ids on every log line of the work under way.

Requests bind theirs to structlog's context. A worker, which runs many thousand attempts a minute
and logs hardly any, sets one function instead: it is called only when a line is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar

from structlog.contextvars import merge_contextvars
from structlog.typing import EventDict, WrappedLogger

#: Returns the ids of the execution that this context works on; None outside of one.
ids_of_work: ContextVar[Callable[[], Mapping[str, object]] | None] = ContextVar(
    "ids_of_work", default=None
)


def add_ids(logger: WrappedLogger, method: str, event_dict: EventDict) -> EventDict:
    """Add the ids of the context, without those that the line itself names."""
    ids = ids_of_work.get()
    if ids is not None:
        event_dict = {**ids(), **event_dict}
    return merge_contextvars(logger, method, event_dict)
