from __future__ import annotations

from contextvars import Context

import structlog

from shared.log_context import add_ids, ids_of_work


def _line(**fields: object) -> dict[str, object]:
    return dict(add_ids(None, "info", dict(fields)))


def test_a_line_has_the_ids_of_the_work_and_its_own_before_them():
    def work() -> dict[str, object]:
        ids_of_work.set(lambda: {"execution_id": "e", "attempt": 1})
        structlog.contextvars.bind_contextvars(trace_id="t", attempt=9)
        return _line(event="x", attempt=2)

    found = Context().run(work)

    assert found == {"event": "x", "execution_id": "e", "attempt": 2, "trace_id": "t"}


def test_without_work_a_line_has_no_ids():
    assert Context().run(_line, event="x") == {"event": "x"}
