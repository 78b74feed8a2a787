"""``manage.py schedule``: a schedule in plain words, the coming load, and spreading it."""

from __future__ import annotations

from typing import ClassVar

from operations.schedules import load, month, preview, zones
from shared.command_parser import Verb
from shared.commands import VerbCommand


class Command(VerbCommand):
    """Preview schedules that need not be saved; forecast the load and spread its hot spots."""

    help = "Describe a schedule in plain words; forecast the load of all, and spread hot spots."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "preview",
            "describe a schedule and list its next times; nothing is saved",
            (
                'schedule preview "0 8 * * MON-FRI" --timezone Europe/Berlin',
                'schedule preview "30 2 * * *" --timezone Europe/Berlin --dst-gap skip --limit 3',
                "schedule preview PT15M --since 2026-11-20T08:00:00Z --json",
                'schedule preview "0 9 * * *" --working-day -1 --calendar Holidays',
            ),
            preview.preview_schedule,
            preview.add_preview_options,
        ),
        Verb(
            "forecast",
            "show how many starts the next days have, and their hot spots",
            (
                "schedule forecast",
                "schedule forecast --days 1 --resolution minute --json",
                "schedule forecast --destination api.example.com",
            ),
            load.show_forecast,
            load.add_forecast_options,
        ),
        Verb(
            "month",
            "show past and coming runs of a month by day",
            (
                "schedule month",
                "schedule month 2026-12 --timezone Europe/Berlin --filter label:team:billing",
                "schedule month --day 2026-12-24 --json",
            ),
            month.show_month,
            month.add_month_options,
        ),
        Verb(
            "spread",
            "give the tasks that start in one minute a jitter",
            (
                "schedule spread 2026-11-21T00:00:00Z --dry-run",
                "schedule spread 2026-11-21T00:00:00Z --jitter 120 --yes",
            ),
            load.spread,
            load.add_spread_options,
            dangerous=True,
        ),
        Verb(
            "zones",
            "show the zone database, the zones in use and what its changes moved",
            (
                "schedule zones",
                "schedule zones --check",
                "schedule zones --tenant Default --json",
            ),
            zones.show_zones,
            zones.add_zones_options,
        ),
    )
