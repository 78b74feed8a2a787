"""A recorder as Redis sees one: a consumer of the outcome stream that has just asked."""

from __future__ import annotations

from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client


def ask_for_outcomes(name: str = "recorder-1@host:1") -> None:
    """Ask the empty stream once, as a live recorder does all the time."""
    client().xgroup_create(OUTCOME_STREAM, OUTCOME_GROUP, id="0", mkstream=True)
    client().xreadgroup(OUTCOME_GROUP, name, {OUTCOME_STREAM: ">"}, count=1)
