"""One attempt of a webhook: open the secrets, compose, call, classify, decide what follows.

A pipeline of small steps over the entry of a message. Called by the worker's runner; knows no
database. The answer is captured encrypted.
"""

from __future__ import annotations

import base64
import json
import random
from collections import OrderedDict
from collections.abc import Coroutine, Hashable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, Generic, TypeVar

from delivery.caller import Caller
from delivery.errors import DeliveryError, ErrorCode
from delivery.headers import AttemptFacts, callback_url_of, traceparent
from delivery.http_client import HttpClient, Response
from delivery.http_messages import Request, encode_request
from delivery.masked_answer import judged_answer
from delivery.outcome import Outcome, decide
from delivery.plain_request import call_of, is_plain, write
from delivery.plan import Moment, Plan, Shape, compose, plan_of, read_shape, template_values
from delivery.signing import parse_secret
from shared import execution_tokens
from shared.addresses import AllowList, TargetUrl, UrlError
from shared.conf import conf
from shared.encryption import DecryptionFailed, open_json, open_sealed, seal_json
from shared.instants import format_instant
from shared.named_secrets.opened import SecretUnavailable, secrets_of
from shared.sealing_contexts import (
    payload_context,
    progress_context,
    response_context,
    revision_context,
    signing_secret_context,
)
from shared.trace_context import TraceContext
from shared.tracing.sampling import context_of_attempt
from wire import outcomes
from wire.costs import cost_of_headers
from wire.messages import Entry, Shared
from wire.retry import Ended

#: Opened definitions and secrets that are kept, by the bytes they take: payloads may be large.
_REMEMBERED_BYTES = 16 * 1024 * 1024
#: Definitions that are noted as met.
_MET = 8192
#: Targets of the last messages that are kept as they were read.
_SHAPES = 256
#: Bytes of a plan besides its sealed part: its records, and the target's own parts.
_PLAN_BYTES = 3072
#: Bytes of a request that is ready, besides its data.
_READY_BYTES = 512
#: A signature names the second of its attempt; an attempt that begins this much later signs anew.
_READY_SECONDS = 5.0
#: A longer progress is not sent: headers are no place for documents.
_PROGRESS_BYTES = 4096
#: Error codes of an attempt for URLs that creation would refuse today: a forbidden port is a part
#: of a forbidden address. An invalid URL can only be our own fault, since creation has checked it.
_REFUSED: dict[str, ErrorCode] = {
    "address_forbidden": "address_forbidden",
    "port_forbidden": "address_forbidden",
}

T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by key; the oldest are forgotten when all take more than ``limit_bytes``."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """Return what is kept under the key."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def take(self, key: Hashable) -> T | None:
        """Return what is kept under the key, and forget it."""
        found = self._kept.pop(key, None)
        if found is None:
            return None
        self._size -= found[1]
        return found[0]

    def keep(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value of about ``size`` bytes under a key, in place of the value before."""
        self.take(key)
        self._kept[key] = (value, size)
        self._size += size
        while self._size > self._limit:
            self._size -= self._kept.popitem(last=False)[1][1]


@dataclass(slots=True)
class Ready:
    """A request that was made before its time, and how it goes over the wire.

    The request's own headers and body are gone: ``data`` has them.
    """

    plan: Plan
    request: Request
    data: bytes
    #: Unix seconds of the attempt, as they were signed.
    timestamp: int


class Deliverer:
    """Delivers entries through one HTTP client; remembers opened definitions for a while."""

    def __init__(self, client: HttpClient, allow: AllowList) -> None:
        self._client = client
        self._caller = Caller(client)
        self._allow = allow
        self._plans: Remembered[Plan] = Remembered(_REMEMBERED_BYTES)
        #: Definitions that were met once: only what comes again is kept.
        self._met: set[Hashable] = set()
        #: By the identity of their targets, which they hold.
        self._shapes: Remembered[Shape] = Remembered(_SHAPES * _PLAN_BYTES)
        self._secrets: Remembered[bytes] = Remembered(_REMEMBERED_BYTES // 16)
        self._ready: Remembered[Ready] = Remembered(_REMEMBERED_BYTES)
        self._is_tracing = conf().tracing is not None

    def prepare(self, entry: Entry, batch: Shared) -> None:
        """Make the request of an entry that is not due yet, where one request is the whole call.

        Never raises: the attempt itself reports what is wrong with the entry.
        """
        try:
            plan = self._plan(entry, batch)
            if not plan.is_direct or self._ready.get(entry["token"]) is not None:
                return
            timestamp = int(entry["due"] - batch["offset"])
            if is_plain(plan, entry):
                request, data = call_of(plan), self._written(entry, plan, batch, timestamp)
            else:
                request = self._request(entry, plan, batch, timestamp)
                data = encode_request(request)
                request.headers, request.body = (), b""
        except Exception:  # noqa: BLE001 - its attempt meets it again, and reports it
            return
        self._ready.keep(
            entry["token"], Ready(plan, request, data, timestamp), len(data) + _READY_BYTES
        )

    async def deliver(self, entry: Entry, batch: Shared, started: float) -> outcomes.Outcome:
        """Run one attempt and return its outcome; never raises for what a receiver does."""
        result: Response | DeliveryError
        began = perf_counter()
        at = started - batch["offset"]
        try:
            # No name holds the request here: its memory is free while the answer is awaited.
            plan, call = self._begin(entry, batch, at)
            try:
                result = await call
            except DeliveryError as error:
                # Its traceback holds this frame, and with it the whole message.
                result = error.with_traceback(None)
            now = datetime.fromtimestamp(at + perf_counter() - began, UTC)
            result, verdict = judged_answer(plan, result, now)
        except DecryptionFailed as error:
            # The key may come back; an attempt of ours that failed is tried again.
            result = DeliveryError("internal", error.message)
            now = datetime.fromtimestamp(at, UTC)
            verdict = Outcome("retryable", "FAILED", "internal", error.message)
        except SecretUnavailable as error:
            return _unsendable("secret_unavailable", error.message)
        except UrlError as error:
            return _unsendable(_REFUSED.get(error.code, "internal"), error.message)
        except ValueError as error:
            # Nothing was sent, and the client would refuse to frame it again.
            return _unsendable("internal", str(error))
        return _answer(entry, verdict, result, now)

    def _begin(
        self, entry: Entry, batch: Shared, at: float
    ) -> tuple[Plan, Coroutine[Any, Any, Response]]:
        ready = self._ready.take(entry["token"])
        if ready is not None and at < ready.timestamp + _READY_SECONDS:
            call = self._client.send(ready.request, ready.data, tenant=entry["tenant"])
            return ready.plan, call
        plan = self._plan(entry, batch)
        if is_plain(plan, entry):
            data = self._written(entry, plan, batch, at)
            return plan, self._client.send(call_of(plan), data, tenant=entry["tenant"])
        request = self._request(entry, plan, batch, at)
        return plan, self._caller.call(plan, request, entry["tenant"])

    def address_of(self, entry: Entry, batch: Shared) -> TargetUrl | None:
        """Return what a webhook calls; None where only its request says it, or nothing can."""
        try:
            return self._plan(entry, batch).url
        except (DecryptionFailed, SecretUnavailable, ValueError):
            return None

    def _plan(self, entry: Entry, batch: Shared) -> Plan:
        tenant, named = entry["tenant"], batch.get("named_secrets", {})
        # Another value of a secret makes another plan.
        used = [
            named.get(tenant, {}).get(name) for name in entry["target"].get("named_secrets", ())
        ]
        key = (entry["task"], entry["revision"], *used)
        found = self._plans.get(key)
        if found is None:
            context = revision_context(entry["tenant"], entry["task"], entry["revision"])
            opened = open_json(base64.b64decode(entry["sealed"]), context)
            payload = opened.pop("payload")
            shape = self._shape(entry["target"], entry["retry_policy"])
            found = plan_of(
                shape,
                opened.get("url") or entry["url"] or "",
                opened,
                payload,
                tenant=tenant,
                secrets=secrets_of(entry["target"], named, tenant),
            )
            if key in self._met:
                self._plans.keep(key, found, len(entry["sealed"]) + _PLAN_BYTES)
            else:
                self._meet(key)
        return found

    def _meet(self, key: Hashable) -> None:
        """Note a definition that is met for the first time: of a one-time task it is the last."""
        if len(self._met) >= _MET:
            self._met.clear()
        self._met.add(key)

    def _shape(self, target: dict[str, Any], policy: dict[str, Any]) -> Shape:
        """Return the shape of a target that entries of a message share as one object."""
        found = self._shapes.get(id(target))
        if found is None or found.target is not target or found.policy is not policy:
            found = read_shape(target, policy, allow=self._allow)
            self._shapes.keep(id(target), found, _PLAN_BYTES)
        return found

    def _written(self, entry: Entry, plan: Plan, batch: Shared, at: float) -> bytes:
        """Return the bytes of a plain call."""
        body = plan.body
        if body is None or entry.get("payload") is not None:
            body = plan.body_of(_own_payload(entry)[0])
        return write(
            plan,
            entry,
            scheduled_for=_instant_text(entry["scheduled_for"]),
            timestamp=int(at),
            secrets=self._signing(entry, batch),
            body=body,
            context=self._context_of(entry),
        )

    def _context_of(self, entry: Entry) -> TraceContext | None:
        """Return the trace of the attempt; None where it is that of the execution alone."""
        kept = entry.get("trace")
        if kept is None and not self._is_tracing:
            return None
        return context_of_attempt(entry["id"], kept, entry["attempt"])

    def _signing(self, entry: Entry, batch: Shared) -> list[bytes]:
        tenant = entry["tenant"]
        return [self._secret(blob, tenant) for blob in batch["secrets"][tenant]]

    def _request(self, entry: Entry, plan: Plan, batch: Shared, at: float) -> Request:
        scheduled_for = _instant_text(entry["scheduled_for"])
        context = self._context_of(entry)
        facts = AttemptFacts(
            execution_id=entry["id"],
            task_id=entry["task"],
            attempt=entry["attempt"],
            scheduled_for=scheduled_for,
            fencing_token=entry["token"],
            traceparent=traceparent(entry["id"], entry["attempt"], context),
            tracestate=context.state if context else "",
            user_headers=plan.headers,
            content_type=plan.content_type,
        )
        if plan.terms.callback:
            facts = _with_callback(facts, entry)
        named = entry.get("named") if plan.url is None else None
        moment = Moment(
            facts=facts,
            # The receiver's tolerance is against real time: the database's.
            timestamp=int(at),
            secrets=self._signing(entry, batch),
            values=template_values(named, scheduled_for, entry["attempt"]) if named else {},
            own_payload=_own_payload(entry),
        )
        return compose(plan, moment)

    def _secret(self, blob: str, tenant: str) -> bytes:
        found = self._secrets.get(blob)
        if found is None:
            context = signing_secret_context(tenant)
            found = parse_secret(open_sealed(base64.b64decode(blob), context).decode())
            self._secrets.keep(blob, found, len(blob) + len(found))
        return found


@lru_cache(maxsize=1024)
def _instant_text(seconds: float) -> str:
    """Return a nominal time as text; what is due together shares it."""
    return format_instant(datetime.fromtimestamp(seconds, UTC))


def _own_payload(entry: Entry) -> list[Any]:
    """Return the execution's own payload in a list of one, since null is a payload, too."""
    sealed = entry.get("payload")
    if sealed is None:
        return []
    return [open_json(base64.b64decode(sealed), payload_context(entry["tenant"], entry["id"]))]


def _with_callback(facts: AttemptFacts, entry: Entry) -> AttemptFacts:
    """Add what the receiver needs to end the execution later, and its last progress."""
    execution = entry["id"]
    return replace(
        facts,
        execution_token=execution_tokens.make(execution, entry["token"]),
        callback_url=callback_url_of(execution),
        progress=_progress(entry),
    )


def _progress(entry: Entry) -> str | None:
    if not entry.get("progress"):
        return None
    context = progress_context(entry["tenant"], entry["id"])
    said = open_json(base64.b64decode(entry["progress"]), context)
    # ASCII, so that every receiver reads the header alike.
    text = json.dumps(said, ensure_ascii=True, separators=(",", ":")).replace("\x7f", "\\u007f")
    return text if len(text) <= _PROGRESS_BYTES else None


def _answer(
    entry: Entry, verdict: Outcome, result: Response | DeliveryError, now: datetime
) -> outcomes.Outcome:
    decision = decide(verdict, partial(_ended, entry, now), entry["retry_policy"], random.random)
    answer = outcomes.outcome_of(decision, verdict.outcome)
    answer["status"], answer["timings"] = verdict.status, result.timings
    # Most outcomes have no error, and leave these keys out.
    if verdict.error_code:
        answer["error_code"] = verdict.error_code
    if verdict.error_message:
        answer["error_message"] = _storable(verdict.error_message)
    if isinstance(result, Response) and verdict.kind != "accepted":
        answer["sealed"] = _sealed_response(entry, result)
        outcomes.add_cost(answer, cost_of_headers(result.headers))
    return answer


def _ended(entry: Entry, now: datetime) -> Ended:
    return Ended(
        number=entry["attempt"],
        max_attempts=entry["max_attempts"],
        scheduled_for=datetime.fromtimestamp(entry["scheduled_for"], UTC),
        now=now,
    )


def _unsendable(code: ErrorCode, message: str) -> outcomes.Outcome:
    """Return the outcome of a definition that cannot be sent, now or later: no retry helps."""
    return {
        "verb": "failed",
        "reason": "not_retryable",
        "outcome": "FAILED",
        "error_code": code,
        "error_message": _storable(message),
    }


def _storable(text: str) -> str:
    """Return the text without what neither JSON nor the database can hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _sealed_response(entry: Entry, response: Response) -> bytes:
    captured = {
        "headers": response.headers,
        "body": base64.b64encode(response.body).decode(),
        "truncated": response.truncated,
        "address": response.address,
        "encoding": response.encoding,
    }
    return seal_json(captured, response_context(entry["tenant"], entry["id"]))
