"""One attempt of a webhook: open the secrets, sign, send, classify, say what is to be done.

A pipeline of small steps over the entry of a message. Called by the worker's runner; knows no
database. The answer is captured encrypted.
"""

from __future__ import annotations

import base64
import random
from collections import OrderedDict
from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

import orjson

from executions.delivery.errors import DeliveryError, ErrorCode
from executions.delivery.headers import AttemptFacts, build_headers, traceparent
from executions.delivery.http_client import HttpClient, Request, Response
from executions.delivery.outcome import Outcome, classify
from executions.delivery.signing import parse_secret
from shared.addresses import AllowList, UrlError, parse_target_url
from shared.backoff import delay_seconds
from shared.conf import conf
from shared.encryption import DecryptionFailed, open_json, open_sealed, seal_json
from shared.instants import format_instant

#: Opened definitions and secrets that are kept, by the bytes they take: payloads may be large.
_REMEMBERED_BYTES = 16 * 1024 * 1024
#: Methods whose requests carry no payload: a body of theirs means nothing (RFC 9110, 9.3).
_BODILESS = ("GET", "HEAD")
#: What creation would refuse today, said in the words of an attempt: a forbidden port is a part of
#: a forbidden address. An invalid URL can only be a fault of ours, since creation has checked it.
_REFUSED: dict[str, ErrorCode] = {
    "address_forbidden": "address_forbidden",
    "port_forbidden": "address_forbidden",
}

T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by key, the oldest forgotten first when they take more than so many bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """Return what is kept under the key."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def keep(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value of about so many bytes under a new key."""
        self._kept[key] = (value, size)
        self._size += size
        while self._size > self._limit:
            self._size -= self._kept.popitem(last=False)[1][1]


class Deliverer:
    """Delivers entries through one HTTP client; remembers opened definitions for a while."""

    def __init__(self, client: HttpClient, allow: AllowList) -> None:
        self._client = client
        self._allow = allow
        self._opened: Remembered[tuple[dict[str, str], bytes]] = Remembered(_REMEMBERED_BYTES)
        self._secrets: Remembered[bytes] = Remembered(_REMEMBERED_BYTES // 16)

    async def deliver(
        self, entry: dict[str, Any], batch: dict[str, Any], started: float
    ) -> dict[str, Any]:
        """Run one attempt and return its outcome; never raises for what a receiver does."""
        result: Response | DeliveryError
        try:
            result = await self._client.send(self._request(entry, batch, started))
        except DeliveryError as error:
            result = error
        except DecryptionFailed as error:
            # The key may come back; an attempt of ours that failed is tried again.
            result = DeliveryError("internal", error.message)
        except UrlError as error:
            return _unsendable(_REFUSED.get(error.code, "internal"), error.message)
        except ValueError as error:
            # Nothing was sent: what the client refuses to frame it refuses again.
            return _unsendable("internal", str(error))
        verdict = classify(
            result,
            success_statuses=entry["target"]["success"]["statuses"],
            retry_on=entry["retry_policy"]["retry_on"],
            now=datetime.now(UTC),
        )
        return _answer(entry, verdict, result)

    def _request(self, entry: dict[str, Any], batch: dict[str, Any], started: float) -> Request:
        target = entry["target"]
        own_headers, body = self._content(entry)
        facts = AttemptFacts(
            execution_id=entry["id"],
            task_id=entry["task"],
            attempt=entry["attempt"],
            scheduled_for=format_instant(datetime.fromtimestamp(entry["scheduled_for"], UTC)),
            fencing_token=entry["token"],
            traceparent=traceparent(UUID(entry["id"]), entry["attempt"]),
            user_headers=list(own_headers.items()),
        )
        secrets = [
            self._secret(blob, entry["tenant"]) for blob in batch["secrets"][entry["tenant"]]
        ]
        # The receiver's tolerance is against real time: the database's, by the batch's offset.
        timestamp = int(started - batch["offset"])
        return Request(
            method=target["method"],
            url=parse_target_url(target["url"], self._allow, conf().webhook_allowed_ports),
            headers=build_headers(facts, secrets=secrets, timestamp=timestamp, body=body),
            body=body,
            connect_timeout=target["connect_timeout_seconds"],
            timeout=target["timeout_seconds"],
            capture_bytes=conf().response_capture_bytes,
        )

    def _content(self, entry: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        key = (entry["task"], entry["revision"])
        found = self._opened.get(key)
        if found is None:
            context = f"revision:{entry['task']}:{entry['revision']}".encode()
            opened = open_json(base64.b64decode(entry["sealed"]), context)
            found = (opened["headers"], _body(orjson.dumps(opened["payload"])))
            self._opened.keep(key, found, len(entry["sealed"]))
        headers, body = found
        if entry["target"]["method"] in _BODILESS:
            return headers, b""
        if entry["payload"] is not None:
            context = f"execution:{entry['id']}".encode()
            body = _body(open_sealed(base64.b64decode(entry["payload"]), context))
        return headers, body

    def _secret(self, blob: str, tenant: str) -> bytes:
        found = self._secrets.get(blob)
        if found is None:
            context = f"signing-secret:{tenant}".encode()
            found = parse_secret(open_sealed(base64.b64decode(blob), context).decode())
            self._secrets.keep(blob, found, len(blob) + len(found))
        return found


def _body(payload: bytes) -> bytes:
    """No payload is no body."""
    return b"" if payload == b"null" else payload


def _answer(
    entry: dict[str, Any], verdict: Outcome, result: Response | DeliveryError
) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "outcome": verdict.outcome,
        "status": verdict.status,
        "error_code": verdict.error_code or "",
        "error_message": _storable(verdict.error_message or ""),
        "timings": result.timings,
        **_decision(entry, verdict),
    }
    if isinstance(result, Response):
        answer["sealed"] = _sealed_response(entry["id"], result)
    return answer


def _unsendable(code: ErrorCode, message: str) -> dict[str, Any]:
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


def _decision(entry: dict[str, Any], verdict: Outcome) -> dict[str, Any]:
    if verdict.kind == "success":
        return {"verb": "succeeded"}
    if verdict.kind == "permanent":
        return {"verb": "failed", "reason": "not_retryable"}
    if entry["attempt"] >= entry["max_attempts"]:
        return {"verb": "failed", "reason": "attempts_exhausted"}
    delay = delay_seconds(entry["retry_policy"], entry["attempt"], random.random)
    if verdict.retry_after_seconds is not None:
        delay = max(delay, verdict.retry_after_seconds)
    return {"verb": "retrying", "reason": "", "retry_in": delay}


def _sealed_response(execution: str, response: Response) -> str:
    captured = {
        "headers": response.headers,
        "body": base64.b64encode(response.body).decode(),
        "truncated": response.truncated,
        "address": response.address,
    }
    return base64.b64encode(seal_json(captured, f"response:{execution}".encode())).decode()
