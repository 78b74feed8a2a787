"""A break of the demo in words and figures, the same for the page and the command."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from executions.demo.breaks import FAULT_SECONDS, Kind
from insight.demo_break import Report
from shared.instants import format_instant

#: Kind -> its name, what it does, and what there is to see.
KINDS: dict[Kind, tuple[str, str, str]] = {
    Kind.RECEIVER_FAILS: (
        "The receiver fails",
        f"Every call is answered 503 for {FAULT_SECONDS} seconds.",
        "Calls are retried with growing waits, the circuit opens, a probe closes it again.",
    ),
    Kind.RECEIVER_SLOW: (
        "The receiver is slow",
        f"Every answer takes 3 seconds longer for {FAULT_SECONDS} seconds.",
        "More calls are under way at a time, and starts stay on their instants.",
    ),
    Kind.WORKER: (
        "A worker is killed",
        "One worker gets SIGKILL in the middle of its calls.",
        "What it had in hand is given back once it has been silent, and runs elsewhere.",
    ),
    Kind.SCHEDULER: (
        "A scheduler is killed",
        "One scheduler gets SIGKILL, and its partitions have no one.",
        "Another scheduler takes them over when the lease ends; a single one is started again.",
    ),
}


def headline(report: Report) -> tuple[str, str]:
    """Return the state of a break as a tone (info, error, warning, success) and a sentence."""
    kind = report.broken.kind
    if report.phase == "waits":
        seconds = max(0, round((report.broken.strikes_at - report.now).total_seconds()))
        return "info", f"{_COMING[kind]} in {seconds} s. The pulses run undisturbed until then."
    if report.phase == "acts":
        ends = report.broken.strikes_at.timestamp() + FAULT_SECONDS
        seconds = max(0, round(ends - report.now.timestamp()))
        return "error", f"{_ACTING[kind]} for another {seconds} s. {_backlog(report)}"
    if report.phase == "recovers":
        return "warning", f"{_recovering(report)} {_backlog(report)}"
    return _verdict(report)


_COMING = {
    Kind.RECEIVER_FAILS: "The receiver begins to fail",
    Kind.RECEIVER_SLOW: "The receiver begins to be slow",
    Kind.WORKER: "A worker is killed",
    Kind.SCHEDULER: "A scheduler is killed",
}
_ACTING = {
    Kind.RECEIVER_FAILS: "The receiver answers 503",
    Kind.RECEIVER_SLOW: "The receiver takes 3 seconds longer",
}


def _recovering(report: Report) -> str:
    if report.struck_at is None:
        return "Nothing was killed: no process of the kind was alive, or `up` was started again."
    if report.broken.kind == Kind.SCHEDULER:
        if report.waiting:
            count = report.waiting
            return (
                f"{count} partitions wait for a new owner: the dead scheduler's lease still runs."
            )
        return "Every partition has an owner again."
    if report.broken.kind == Kind.WORKER:
        return "The worker is dead: its calls are given back once it has been silent."
    return "The receiver answers as usual again."


def _backlog(report: Report) -> str:
    counts = report.counts
    return f"{counts.succeeded} of {counts.due} instants have run so far."


def _verdict(report: Report) -> tuple[str, str]:
    counts = report.counts
    if report.kept is None:
        text = (
            f"Over: {counts.succeeded} of {counts.expected} instants ran. The receiver's count is "
            "missing, because it was started again or does not answer."
        )
        return "warning", text
    ran = f"{counts.succeeded} of {counts.expected} instants ran"
    if not report.kept:
        text = (
            f"{ran}: {counts.missing} missing, {counts.doubled} doubled, {counts.failed} failed, "
            f"{counts.skipped} skipped."
        )
        return "error", text
    how_long = (
        "No start was delayed and no call repeated."
        if report.recovered_after is None
        else f"All that was delayed had ended {report.recovered_after:.1f} s after the strike."
    )
    return "success", f"Nothing lost, nothing doubled: {ran}. {how_long}"


def present_report(report: Report) -> dict[str, Any]:
    """Return the document of ``demo break --json``."""
    broken = report.broken
    return {
        "kind": broken.kind.value,
        "phase": report.phase,
        "kept": report.kept,
        "sentence": headline(report)[1],
        "begun_at": format_instant(broken.at),
        "begun_by": broken.actor,
        "struck_at": report.struck_at and format_instant(report.struck_at),
        "recovered_after_seconds": _rounded(report.recovered_after),
        "partitions_waiting": report.waiting,
        "partitions_unowned": report.unowned,
        "counts": asdict(report.counts),
        "moments": [
            {"at": format_instant(one.at), "seconds": since(report, one.at), "text": one.text}
            for one in report.moments
        ],
    }


def since(report: Report, at: datetime) -> float:
    """Return the seconds from the strike to a moment, negative before it."""
    begins: datetime = report.struck_at or report.broken.strikes_at
    return round((at - begins).total_seconds(), 1)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
