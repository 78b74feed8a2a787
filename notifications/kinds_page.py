"""The table of the kinds of alerts for the reference page, written from the kinds themselves."""

from __future__ import annotations

from notifications.alert_kinds import KINDS, Number


def kinds_table() -> str:
    """Return the table: what opens and closes an alert of each kind, and its numbers."""
    head = (
        "| Kind | Opens when | Closes | Threshold | Window | Built in |",
        "|---|---|---|---|---|---|",
    )
    rows = (
        f"| `{kind}` | {facts.opens} | {facts.closes} | {_number(facts.threshold)} |"
        f" {_number(facts.window)} | {'yes' if facts.built_in else 'no'} |"
        for kind, facts in KINDS.items()
    )
    return "\n".join((*head, *rows))


def _number(number: Number | None) -> str:
    if number is None:
        return "–"
    return f"{number.default} {number.meaning} ({number.least} to {number.most})"
