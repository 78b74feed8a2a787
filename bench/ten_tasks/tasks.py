"""The ten tasks, each from the overview to the sign that it is done."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bench.ten_tasks.hands import Hand
from bench.ten_tasks.stand import (
    CAUSES,
    CHANGED,
    CRONTAB_LINES,
    HOSTS,
    PAUSED,
    SLOW,
    Stand,
    crontab,
)


@dataclass(frozen=True, slots=True)
class Task:
    """One everyday task: its short name, what is asked, and how it is done."""

    name: str
    asked: str
    do: Callable[[Hand, Stand], None]


def _why(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.find(PAUSED)
    hand.do(page.get_by_role("link", name="Explain: why it runs or does not"), key="e")
    hand.see(page.locator(".verdict"), "aused")


def _retry(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.go("dead letters")
    cause = page.locator(f'[data-row="{CAUSES[hand.name]}"]')
    hand.row(cause)
    hand.do(cause.get_by_role("button", name="Retry"), key="Shift+R")
    hand.write(page.get_by_label("Canary: retry this many first"), "1", submit=True)
    hand.see(page.locator("#job h1"), "Retry")


def _pause(hand: Hand, stand: Stand) -> None:
    page = hand.page
    host = HOSTS[hand.name]
    hand.go("destinations")
    row = page.locator(f'[data-row="{host}"]').last
    hand.row(row)
    hand.do(row.locator("[data-open]"), key="Enter")
    hand.see(page.get_by_role("heading", name=host, level=1))
    hand.do(page.get_by_role("link", name="Pause it"), words="pause it")
    hand.write(page.get_by_label("or until"), "monday 9:00", submit=True)
    reach = page.get_by_role("button", name=re.compile(r"^Pause \d+ task"))
    hand.see(reach)
    hand.do(reach)
    hand.see(page.locator(".flash.success"))
    hand.see(page.locator(f'[data-row]:has-text("{host}")'))


def _cron(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.do(page.get_by_role("link", name="New task").first, key="n")
    hand.see(page.get_by_role("heading", name="New task", level=1))
    hand.is_at_work()
    name = f"Night run by {hand.name}"
    hand.write(page.get_by_label("Name", exact=True), name)
    hand.write(page.locator("#url"), f"https://{HOSTS[hand.name]}/night")
    hand.tick(page.get_by_label("By cron"))
    hand.write(page.get_by_label("Cron expression"), "30 2 * * *")
    hand.write(page.get_by_label("Time zone", exact=True), "America/New_York")
    hand.do(page.locator("summary", has_text="More about the time"))
    hand.do(page.locator("summary", has_text="Start, end, clock changes"))
    hand.choose(page.get_by_label("When the hour is skipped in spring"), "skip it")
    hand.see(page.locator("#preview"), "is left out")
    hand.do(page.get_by_role("button", name="Create the task"))
    hand.see(page.get_by_role("heading", name=name, level=1))


def _slowest(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.go("executions")
    hand.do(page.locator("a.sort", has_text="Duration"), words="sort by duration")
    hand.see(page.locator('th[aria-sort="descending"]'), "Duration")
    hand.see(page.locator("[data-row] a[data-open]").first)
    hand.tally.think()


def _latest(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.go("executions")
    hand.do(page.locator("a.sort", has_text="Start delay"), words="sort by start delay")
    hand.see(page.locator('th[aria-sort="descending"]'), "Start delay")
    row = page.locator("[data-row]").first
    hand.row(row)
    hand.do(row.locator("a[data-open]"), key="Enter")
    explain = page.get_by_role("link", name="Explain", exact=True)
    hand.see(explain)
    hand.do(explain, key="e")
    hand.see(page.locator(".verdict"))


def _changed(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.find(CHANGED)
    hand.do(page.locator(".tabs").get_by_role("link", name="Versions"), words="versions")
    hand.see(page.locator("table.diff ins").first, "/v2/prices")
    hand.tally.think()


def _member(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.settle("Members", "members")
    address = f"{hand.name}@example.com"
    hand.write(page.get_by_label("E-mail address"), address, submit=True)
    hand.see(page.locator(f'[data-row]:has-text("{address}")'), "Viewer")
    hand.settle("API keys", "api keys")
    hand.do(page.get_by_role("link", name="New API key").first, words="new api key")
    hand.see(page.get_by_role("heading", name="New API key", level=1))
    hand.write(page.get_by_label("Name", exact=True), "dashboard")
    write = page.locator('input[name="scopes"][value="write"]')
    if write.is_checked():
        hand.tick(write)
    hand.do(page.get_by_role("button", name="Create the key"))
    hand.see(page.locator("#key-text"))


def _crontab(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.go("tasks")
    hand.do(page.get_by_role("link", name="Import a crontab"), words="import a crontab")
    hand.see(page.get_by_role("heading", name="Import a crontab", level=1))
    hand.paste(page.locator("#crontab"), crontab())
    hand.write(
        page.get_by_label("Webhook that every task calls"), f"https://{HOSTS[hand.name]}/run"
    )
    hand.write(page.get_by_label("Name of the file"), f"cron-{hand.name}", submit=True)
    made = page.get_by_role("button", name=f"Import {CRONTAB_LINES} tasks")
    hand.see(made)
    hand.do(made)
    hand.see(page.locator(".flash.success"), str(CRONTAB_LINES))


def _view(hand: Hand, stand: Stand) -> None:
    page = hand.page
    hand.go("executions")
    words = f"http:503 host:{stand.receiver} duration:>2s"
    hand.write(page.locator("#filter"), words, submit=True)
    hand.see(page.locator("#executions-list [data-row]").first, SLOW)
    hand.do(page.locator("summary", has_text="Views"), words="save view")
    name = f"Slow 503 by {hand.name}"
    hand.write(page.get_by_label("Save what is shown as"), name, submit=True)
    hand.see(page.locator("summary", has_text=name))


TASKS = (
    Task("why", "Why has this task not run?", _why),
    Task("retry", "Retry one cause of failures, one execution first", _retry),
    Task("pause", "Pause a host until Monday 9:00", _pause),
    Task(
        "cron",
        "A new cron in New York that skips the missing hour, proven by its preview",
        _cron,
    ),
    Task("slowest", "The slowest task of today", _slowest),
    Task("latest", "The latest start of today, and why", _latest),
    Task("changed", "Who changed this URL?", _changed),
    Task("member", "Add a member, and a key that only reads", _member),
    Task("crontab", "Import a crontab of 40 lines", _crontab),
    Task("view", "All 503 of one host slower than 2 s, saved as a view", _view),
)
