"""Workflows at random, and what their steps come to: by a seed, so that each can be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

#: What runs get as their input.
INPUT = {"on": True, "off": False, "none": [], "few": [0, 1, 2, 3]}
CONDITIONS = ("all_success", "all_done", "none_failed", "one_failed", "any_success")
_MOST_STEPS = 40


@dataclass(frozen=True, slots=True)
class Drawn:
    """A workflow at random: the body's steps, and its policy."""

    steps: list[dict[str, Any]]
    on_failure: str


def draw_workflow(random: Random) -> Drawn:
    """Draw a graph of up to 40 steps: shared parents, conditions, fan-outs behind each other."""
    steps: list[dict[str, Any]] = []
    for number in range(random.choice((1, 3, 8, 15, 25, _MOST_STEPS))):
        steps.append(_step(random, f"s{number}", steps))
    return Drawn(steps, random.choice(("fail_fast", "continue")))


def draw_end(random: Random, *, can_retry: bool) -> str:
    """Draw what an attempt comes to; RETRYING only where another attempt is left."""
    if can_retry and random.random() < 0.3:
        return "RETRYING"
    return random.choices(("SUCCEEDED", "FAILED", "CANCELLED"), (84, 13, 3))[0]


def _step(random: Random, key: str, before: list[dict[str, Any]]) -> dict[str, Any]:
    count = min(len(before), random.choice((0, 1, 1, 1, 2, 2, 3, 5)))
    # Late ones more often, so that graphs get deep; early ones are the shared parents.
    parents = {min(random.randrange(len(before)), len(before) - 1) for _ in range(count)}
    depends_on = [before[place]["key"] for place in sorted(parents)]
    step: dict[str, Any] = {"key": key, "depends_on": depends_on}
    if depends_on:
        step["condition"] = random.choices(CONDITIONS, (8, 4, 3, 2, 2))[0]
    if random.random() < 0.04:
        return {**step, "kind": "delay", "delay_seconds": 0}
    step["target"] = {"url": f"https://api.example.com/{key}"}
    if random.random() < 0.3:
        step["retry_policy"] = {"max_attempts": 2, "initial_delay_seconds": 0}
    else:
        step["retry_policy"] = {"max_attempts": 1}
    fans = [step for step in before if step["key"] in depends_on and "for_each" in step]
    if random.random() < 0.25 or (fans and random.random() < 0.5):
        step |= _fan_out(random, fans)
    elif random.random() < 0.2:
        step["when"] = _when(random, depends_on)
    if depends_on and random.random() < 0.6:
        step["payload"] = {name: _template(f"steps.{name}.output") for name in depends_on}
    return step


def _fan_out(random: Random, fans: list[dict[str, Any]]) -> dict[str, Any]:
    source = random.choice(("input.none", "input.few", "input.few"))
    if fans and random.random() < 0.7:
        source = f"steps.{random.choice(fans)['key']}.output.outputs"
    found: dict[str, Any] = {
        "for_each": _template(source),
        "max_parallel": random.choice((1, 2, 100)),
        "min_success_share": random.choice((1.0, 0.5)),
    }
    if random.random() < 0.3:
        found["when"] = random.choice(("index != 1", "index > 9"))
    return found


def _template(name: str) -> str:
    return "{{ " + name + " }}"


def _when(random: Random, depends_on: list[str]) -> str:
    if depends_on and random.random() < 0.5:
        return f"steps.{random.choice(depends_on)}.status == 'SUCCEEDED'"
    return random.choice(("input.on == true", "input.off == true"))
