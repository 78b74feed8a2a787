"""An experiment of chaos and its outcome, made up."""

from __future__ import annotations

from typing import Any

from bench.chaos.experiment import Experiment
from bench.chaos.site import Site
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault, Verdict
from operations.proof.workload import Window


async def inject(site: Site, window: Window) -> tuple[Fault, ...]:
    return ()


def experiment(**changes: Any) -> Experiment:
    words = {"id": "x", "fault": "f", "how": "h", "invariant": "i"}
    return Experiment(**{**words, "inject": inject, **changes})


def outcome(verdict: Verdict) -> Outcome:
    return Outcome(Window(0, 1000, "http://127.0.0.1:2", "w"), verdict, 1, 0, True, 1.0)
