"""Decides which traces are recorded, from their ids alone: every process decides alike.

A trace that begins here is recorded if the lowest 56 bits of its id reach a threshold, as W3C Trace
Context (level 2) and OpenTelemetry's consistent sampling have it. Other bits do not count: the id
of an execution is a UUID, whose version and variant are fixed.
"""

from __future__ import annotations

import hashlib

from shared.conf import conf
from shared.trace_context import SAMPLED, TraceContext, context_of, from_text

_NOT_SAMPLED = "00"
_RANDOM_DIGITS = 14
_ALL = 1 << 4 * _RANDOM_DIGITS


def context_of_call(context: TraceContext, *, is_callers: bool, span_id: str) -> TraceContext:
    """Return the trace of a call with the decision whether it is recorded.

    A recorded one has the call's span as the parent of what the call makes.
    """
    tracing = conf().tracing
    if tracing is None:
        return context
    if not (is_callers and tracing.follows_callers):
        context = context.sampled(is_chosen(context.trace_id, tracing.ratio))
    return context._replace(parent=span_id) if context.is_sampled else context


def context_of_attempt(execution_id: str, kept: str | None, attempt: int) -> TraceContext:
    """Return the trace of an attempt, with the decision whether it is recorded.

    The first one is in the trace of the execution. While traces are recorded, each later one is a
    trace of its own, which a span links to the attempt before; it is recorded if the first one was.
    """
    tracing = conf().tracing
    if tracing is None:
        return context_of(execution_id, kept)
    if kept:
        context = from_text(kept)
    else:
        own = execution_id.replace("-", "")
        context = TraceContext(own, SAMPLED if is_chosen(own, tracing.ratio) else _NOT_SAMPLED)
    if attempt < 2:
        return context
    return TraceContext(_trace_of_retry(execution_id, attempt), context.flags)


def is_recorded(execution_id: str, kept: str | None) -> bool:
    """Return whether spans of the execution are recorded; false while no trace is."""
    tracing = conf().tracing
    if tracing is None:
        return False
    if kept:
        return from_text(kept).is_sampled
    return is_chosen(execution_id.replace("-", ""), tracing.ratio)


def is_chosen(trace_id: str, ratio: float) -> bool:
    """Return whether a trace that begins here is recorded at this ratio."""
    return int(trace_id[-_RANDOM_DIGITS:], 16) >= round((1.0 - ratio) * _ALL)


def _trace_of_retry(execution_id: str, attempt: int) -> str:
    seed = f"{execution_id.replace('-', '')}|{attempt}".encode()
    return hashlib.blake2b(seed, digest_size=16).hexdigest()
