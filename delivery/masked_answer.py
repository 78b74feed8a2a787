"""Masks the named secrets of a call in what its receiver has answered.

A receiver may repeat what it was sent, and the answer is kept and shown.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from delivery.errors import DeliveryError
from delivery.http_client import Response
from delivery.outcome import Outcome, classify
from delivery.plan import Plan


def judged_answer(
    plan: Plan, result: Response | DeliveryError, now: datetime
) -> tuple[Response | DeliveryError, Outcome]:
    """Return a result and the verdict on it without the values of the plan's secrets.

    The masked answer is judged: criteria that its writer chooses could otherwise guess a value
    that the receiver repeats, one letter after the other.
    """
    secrets = plan.secrets
    if not secrets:
        return result, classify(result, plan.terms, now)
    if isinstance(result, Response):
        headers = [(name, secrets.mask_text(value)) for name, value in result.headers]
        body = secrets.mask(result.body, ends_cut=result.truncated)
        result = replace(result, headers=headers, body=body)
    verdict = classify(result, plan.terms, now)
    if verdict.error_message:
        verdict = replace(verdict, error_message=secrets.mask_text(verdict.error_message))
    return result, verdict
