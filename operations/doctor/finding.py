"""The result of a check of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Good, worth a look, or broken."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Matter(StrEnum):
    """Whom a finding is for: the operator, or the tenants whose work it is."""

    INSTALLATION = "installation"
    TENANTS = "tenants"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result: the evidence, and the remedy where something is wrong."""

    check: str
    verdict: Verdict
    evidence: str
    remedy: str = ""
    #: The server that was asked does not answer at all.
    unreachable: bool = False
    matter: Matter = Matter.INSTALLATION


def good(check: str, evidence: str) -> Finding:
    """Return a check that found nothing wrong."""
    return Finding(check, Verdict.OK, evidence)


def of_tenants(check: str, evidence: str) -> Finding:
    """Return what a check found of work that waits for tenants: never a fault here."""
    return Finding(check, Verdict.OK, evidence, matter=Matter.TENANTS)


def odd(check: str, evidence: str, remedy: str) -> Finding:
    """Return a check that found something worth a look."""
    return Finding(check, Verdict.WARNING, evidence, remedy)


def bad(check: str, evidence: str, remedy: str) -> Finding:
    """Return a check that found something broken."""
    return Finding(check, Verdict.FAILED, evidence, remedy)


def away(check: str, evidence: str, remedy: str) -> Finding:
    """Return a check that could not ask its server."""
    return Finding(check, Verdict.FAILED, evidence, remedy, unreachable=True)
