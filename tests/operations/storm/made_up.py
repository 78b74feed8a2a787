"""What a storm plans and finds, made up."""

from __future__ import annotations

from operations.proof.campaign import Outcome
from operations.proof.ledger import Arrival, Record
from operations.proof.matcher import Evidence, match
from operations.storm.findings import Findings
from operations.storm.order import Order
from operations.storm.takeover import Strike, takeovers
from operations.storm.weather import faults
from tests.operations.storm.evidence import WINDOW, arrival, record, strike, targets

ORDER = Order(30.0, ("worker",), 7)


TARGETS = targets()


STRIKES = [strike(10.0)]


def findings(
    arrivals: list[Arrival],
    records: list[Record] | None = None,
    strikes: list[Strike] = STRIKES,
    *,
    recovered: bool = True,
) -> Findings:
    told = [record(one) for one in TARGETS] if records is None else records
    evidence = Evidence(TARGETS, arrivals, told, faults(strikes))
    outcome = Outcome(WINDOW, match(evidence), 5, 0, False, 1.0, targets=TARGETS, arrivals=arrivals)
    felt = takeovers(strikes, TARGETS, arrivals)
    return Findings(ORDER, outcome, faults(strikes), felt, {"outcomes": 2}, recovered)


def everything() -> list[Arrival]:
    return [arrival(one) for one in TARGETS]
