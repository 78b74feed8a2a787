"""One fault, how it is injected, and what has to hold: run under load and judged.

After every fault no execution is lost, skipped, early or surplus, and only requests in flight at it
are doubled, under the same key. The product's records agree with the receiver's ledger, and the
ledger's own invariants hold. An experiment may ask for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from bench import campaign
from bench.chaos import invariants, workflow_load
from bench.chaos.site import Site, Stand, pair
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.oracle import Planned
from operations.proof.workload import Window, steady

#: Injects the fault during the window, heals it, and returns what it did and when.
Inject = Callable[[Site, Window], Awaitable[tuple[Fault, ...]]]
#: Returns what does not hold of an experiment's own promise, in words; nothing where all does.
Check = Callable[[Site, Outcome], list[str]]


def nothing_more(site: Site, outcome: Outcome) -> list[str]:
    """Ask for nothing beyond the common promises."""
    return []


@dataclass(frozen=True, slots=True)
class Experiment:
    """A fault of the table."""

    #: Kebab case; ``python -m bench.chaos <id>`` runs it alone.
    id: str
    #: What goes wrong, in a reader's words.
    fault: str
    #: By what means.
    how: str
    #: What has to hold besides the common promises, in words.
    invariant: str
    inject: Inject
    check: Check = nothing_more
    stand: Stand = pair
    rate: float = 30.0
    seconds: float = 25.0
    #: Share of the webhooks that are slow, so that requests are in flight at the fault.
    slow_share: float = 0.2
    #: Every first attempt has to begin within this many seconds of its time.
    latest_start_seconds: float = 15.0
    #: Whether the short selection has it.
    quick: bool = False
    #: Whether runs of workflows go on beside the load, judged by rules of their own.
    workflows: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of an experiment gave."""

    experiment: Experiment
    outcome: Outcome
    problems: list[str]

    @property
    def passed(self) -> bool:
        """Return whether every promise was kept."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result and the page."""
        one, verdict = self.experiment, self.outcome.verdict
        return {
            "id": one.id,
            "fault": one.fault,
            "how": one.how,
            "invariant": one.invariant,
            "workflows": one.workflows,
            "latest_start_bound_seconds": one.latest_start_seconds,
            "expected": verdict.expected,
            "run": verdict.run,
            "missed": verdict.missed,
            "duplicates": verdict.duplicates,
            "in_flight_at_faults": verdict.in_flight_at_faults,
            "latest_start_ms": round(verdict.start_delay.max, 1),
            "quiet_after_seconds": round(self.outcome.quiet_after_seconds, 1),
            "labels": dict(sorted(verdict.labels.items())),
            "examples": {label: found[:3] for label, found in verdict.examples.items() if found},
            "notes": self.outcome.notes,
            "problems": self.problems,
            "passed": self.passed,
        }


@dataclass(frozen=True, slots=True)
class NotRun:
    """An experiment without a verdict: its stand cannot be made here, or it broke off."""

    experiment: Experiment
    reason: str
    broke_off: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what the stored result says instead of figures."""
        one = self.experiment
        facts = {"id": one.id, "fault": one.fault, "how": one.how, "invariant": one.invariant}
        key = "broke_off" if self.broke_off else "could_not_run"
        return {**facts, key: self.reason, "passed": False}


def run(experiment: Experiment, site: Site) -> Result:
    """Run an experiment on a site and judge it."""

    def plan(window: Window) -> list[Planned]:
        seen = replace(window, receiver_url=site.reachable(window.receiver_url))
        return steady(seen, experiment.rate, slow_share=experiment.slow_share)

    with workflow_load.beside(site, wanted=experiment.workflows) as load:

        async def meanwhile(window: Window) -> tuple[Fault, ...]:
            return await load.during(window, experiment.inject(site, window))

        outcome = asyncio.run(campaign.run(site.product, experiment.seconds, plan, meanwhile))
        problems = load.problems(outcome.notes)
    result = judge(experiment, site, outcome)
    return replace(result, problems=result.problems + problems)


def judge(experiment: Experiment, site: Site, outcome: Outcome) -> Result:
    """Return the result with every promise that was broken."""
    verdict = outcome.verdict
    found = []
    if not verdict.passed:
        found.append(f"promises broken: {dict(verdict.labels)}")
    if verdict.duplicates > verdict.in_flight_at_faults:
        found.append(
            f"{verdict.duplicates} duplicates, {verdict.in_flight_at_faults} were in flight"
        )
    latest = verdict.start_delay.max / 1000
    if latest > experiment.latest_start_seconds:
        found.append(f"latest start {latest:.1f} s (bound {experiment.latest_start_seconds:g} s)")
    found += invariants.broken(site) + experiment.check(site, outcome)
    return Result(experiment, outcome, found)
