"""Schedules as people write them, generated from a seed: kinds, zones and choices mixed."""

from __future__ import annotations

import random
from typing import Any

#: Forty zones of every kind: whole, half and quarter hours, no change, early and late changes.
ZONES = (
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Europe/Athens",
    "Europe/Kyiv",
    "Europe/Moscow",
    "Atlantic/Azores",
    "Atlantic/Reykjavik",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Africa/Johannesburg",
    "Africa/Lagos",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Phoenix",
    "America/Los_Angeles",
    "America/Anchorage",
    "America/Halifax",
    "America/St_Johns",
    "America/Havana",
    "America/Santiago",
    "America/Asuncion",
    "America/Sao_Paulo",
    "America/Nuuk",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Jerusalem",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Australia/Adelaide",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Pacific/Apia",
)
_GAPS = ("next_valid", "skip", "before")
_OVERLAPS = ("first", "second", "both")


def generate(count: int, seed: int) -> list[dict[str, Any]]:
    """Return so many schedules, the same ones for a seed; every zone has its share."""
    chance = random.Random(seed)
    return [_schedule(chance, ZONES[number % len(ZONES)]) for number in range(count)]


def _schedule(chance: random.Random, zone: str) -> dict[str, Any]:
    if chance.random() < 0.15:
        return {"every": chance.choice(["PT1M30S", "PT7M", "PT1H", "PT25H", "PT12H5S"])}
    return {
        "cron_expression": _expression(chance),
        "timezone": zone,
        "dst_gap": chance.choice(_GAPS),
        "dst_overlap": chance.choice(_OVERLAPS),
    }


def _expression(chance: random.Random) -> str:
    minute, hour = chance.randrange(60), chance.choice([0, 1, 2, 2, 3, chance.randrange(24)])
    return chance.choice(
        [
            f"{minute} {hour} * * *",
            f"{minute} {hour} * * *",
            f"{minute},{(minute + 30) % 60} {hour},{(hour + 9) % 24} * * *",
            f"{minute} {hour}-{hour + (23 - hour) // 2} * * *",
            f"{minute} * * * *",
            f"*/{chance.choice([5, 15, 20, 30])} * * * *",
            f"*/{chance.choice([10, 17])} {hour} * * *",
            f"{minute} {hour} * * SUN",
            f"{minute} {hour} * * MON-FRI",
            f"{minute} {hour} L * *",
            f"{minute} {hour} LW * *",
            f"{minute} {hour} * * 0#2",
            f"{minute} {hour} 8-14,25-31 * *",
            f"{chance.randrange(60)} {minute} {hour} * * *",
            f"{chance.randrange(60)} {minute} */3 * * *",
            "@daily",
            "@hourly",
        ]
    )
