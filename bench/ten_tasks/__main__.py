"""Ten everyday tasks in a real browser: clicks, keys and seconds at a person's pace.

Every task is done twice, with a mouse and with nothing but keys, from the overview to the sign that
it is done. The seconds are those of the keystroke-level model (:mod:`bench.ten_tasks.pace`); what
the console took is measured and stands beside them. A task that cannot be done is missed, and so is
one that takes more than its limit.
Run: ``python -m bench.ten_tasks --start``.
"""

from __future__ import annotations

import argparse
from typing import Any

from playwright.sync_api import Error, Page, expect, sync_playwright

from bench import command_line, installation, report
from bench.installation import InstallationError
from bench.ten_tasks.hands import HANDS, PATIENCE_MS, Hand
from bench.ten_tasks.stand import TENANT, Stand, build
from bench.ten_tasks.tasks import TASKS, Task

#: Modelled seconds that a task may take with either hand.
LIMIT_SECONDS = 60.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.ten_tasks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in TASKS])
    parser.add_argument("--by", nargs="+", choices=tuple(HANDS), default=tuple(HANDS))
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def do(task: Task, hand: Hand, stand: Stand) -> dict[str, Any]:
    """Do one task from the overview; return its figures, or why it could not be done."""
    hand.page.goto("/")
    expect(hand.page.locator("#live-text")).to_have_text("live", timeout=PATIENCE_MS)
    missed = ""
    try:
        task.do(hand, stand)
    except (Error, AssertionError, InstallationError) as error:
        missed = str(error).strip().splitlines()[0]
    tally = hand.tally
    return {
        "clicks": tally.clicks,
        "keys": tally.keys,
        "decisions": tally.thoughts,
        "seconds": round(tally.seconds, 1),
        "console_seconds": round(tally.waited_seconds, 2),
        "missed": missed,
    }


def lines_of(results: list[dict[str, Any]]) -> list[str]:
    """Return the figures for people."""
    lines = [f"{'task':<10}{'by':<7}{'clicks':>7}{'keys':>6}{'seconds':>9}{'console':>9}"]
    for one in results:
        lines.append(
            f"{one['task']:<10}{one['by']:<7}{one['clicks']:>7}{one['keys']:>6}"
            f"{one['seconds']:>9.1f}{one['console_seconds']:>9.2f}"
        )
        if one["missed"]:
            lines.append(f"  missed: {one['missed']}")
    return lines


def missed(results: list[dict[str, Any]]) -> bool:
    """Return whether a task could not be done, or took longer than it may."""
    return any(one["missed"] or one["seconds"] > LIMIT_SECONDS for one in results)


def main(arguments: list[str]) -> int:
    """Do the tasks; 0 if each was done within its limit."""
    from tests.support.chromium import find_chromium, launch_chromium

    chosen = options(arguments)
    installation.require_start(chosen)
    path = find_chromium()
    if path is None:
        raise InstallationError("no Chromium is installed: apt-get install chromium")
    results = []
    with installation.opened(chosen) as product, sync_playwright() as playwright:
        stand = build(product)
        browser = launch_chromium(playwright, path)
        page = _enter(browser.new_context(base_url=product.base_url), stand)
        for task in TASKS:
            if chosen.only and task.name not in chosen.only:
                continue
            for name in chosen.by:
                figures = do(task, HANDS[name](page), stand)
                results.append({"task": task.name, "asked": task.asked, "by": name, **figures})
                print(lines_of(results[-1:])[1], flush=True)
        browser.close()
    passed = not missed(results)
    figures = {"limit_seconds": LIMIT_SECONDS, "tasks": results, "passed": passed}
    report.publish("ten-tasks", figures, lines_of(results), chosen)
    return 0 if passed else 1


def _enter(context: Any, stand: Stand) -> Page:
    context.set_default_timeout(PATIENCE_MS)
    page: Page = context.new_page()
    page.goto(stand.login_link())
    page.locator("select#tenant").select_option(label=TENANT)
    expect(page.locator(".flash.success")).to_contain_text(TENANT, timeout=PATIENCE_MS)
    return page


if __name__ == "__main__":
    command_line.run(main)
