"""One request, one result: the answer to a change is stored with the change.

``@idempotent`` wraps a view's handler, opens the durable transaction, and writes the answer
under the caller's Idempotency-Key before the commit. The cases:

1. no key where one is needed, or a bad one: 400;
2. first call: runs, answer stored in the transaction of its change; after a crash before the
   commit nothing has changed; after a crash behind it the answer is stored;
3. same key and call: the first answer again, ``Idempotent-Replayed: true``;
4. same key, another call: 422;
5. the first call still runs: 409 with ``Retry-After``.

A refusal (4xx) is stored too, after its change was rolled back. Refusals that may turn out
otherwise later (401, 403, 429, 5xx) are not stored. The fingerprint of a call covers the API key
and its scopes, because a replay skips the checks inside the handler. A stored answer holds no
secret (``ShownOnce``).
``idempotency_groups`` runs many calls at once in one transaction.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any, NoReturn, TypeVar, cast

import orjson
from django.db import transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from api.protocol.problems import log_unexpected, problem_of, respond
from api.protocol.renderers import JSON, PROBLEM_JSON, dump_json
from api.protocol.views import PunctualView
from shared import database_clock, sql
from shared.encryption import open_sealed, seal
from shared.exceptions import Conflict, FieldError, InvalidInput, PunctualError
from shared.sealing_contexts import Context, idempotency_context
from shared.sql_arrays import of_blobs, of_integers, of_moments, of_texts
from tenants.models import IdempotencyRecord, Tenant

Handler = TypeVar("Handler", bound=Callable[..., Any])

_KEY = re.compile(r"[!-~]{1,255}")
_STORED_HEADERS = ("Location",)
#: A longer body is stored compressed: the answer of a bulk call repeats itself, and writing 8 MB
#: more would take a tenth of the call.
_PLAIN_BYTES = 64 * 1024
_ENCODING = "Content-Encoding"
_NOT_STORED = {401, 403, 429}
#: Changes of a tenant that this process works on at a time. They wait for each other at the end of
#: the tenant's audit log anyway; a crowd there is slower than a queue in front of it.
_AT_A_TIME = 4
#: Tenants share these queues by hash; with 256 queues few tenants do.
_QUEUES = tuple(threading.BoundedSemaphore(_AT_A_TIME) for _ in range(256))
# Seconds after which a caller may ask again for the answer of a call under way.
_RETRY_AFTER = 1


class IdempotencyMismatch(PunctualError):
    """This Idempotency-Key was used for another call, or by another API key."""

    code = "idempotency_mismatch"
    status = 422


class IdempotencyInProgress(Conflict):
    """The first call with this Idempotency-Key is still under way."""

    code = "idempotency_in_progress"
    retry_after = _RETRY_AFTER


class ShownOnce(Response):
    """An answer that shows secrets: a repeat of the call gets it without those fields."""

    def __init__(self, data: Mapping[str, Any], *, secrets: Sequence[str], **options: Any) -> None:
        headers = {**options.pop("headers", {}), "Cache-Control": "no-store"}
        super().__init__(data, headers=headers, **options)
        self.repeated = {name: value for name, value in data.items() if name not in secrets}


class _Frozen(HttpResponse):
    """A rendered answer; ``stored`` is the body that a repeat gets."""

    stored: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """What identifies a call: its tenant, its key, and a hash of the caller and the request."""

    tenant: Any
    key: str
    fingerprint: bytes
    seconds: int

    @property
    def context(self) -> Context:
        """Return the context under which the stored answer is sealed."""
        return idempotency_context(self.tenant, self.key)

    @property
    def lock(self) -> int:
        """Return the number of the lock that holds the key."""
        digest = hashlib.blake2b(self.context.label, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


def idempotent(*, required: bool) -> Callable[[Handler], Handler]:
    """Run a handler of a PunctualView at most once per key, in one durable transaction."""

    def decorate(handler: Handler) -> Handler:
        @wraps(handler)
        def once(view: PunctualView, request: Request, *args: Any, **kwargs: Any) -> Any:
            def run() -> HttpResponseBase:
                return view.as_seen(handler(view, request, *args, **kwargs))

            call = call_of(view, request, required)
            with queue_of(view.caller.tenant_id):
                if call is None:
                    with sql.sent_with_commit():
                        return _undo_if_refused(run())
                return run_once(call, request, run)

        once.idempotency_required = required  # type: ignore[attr-defined]  # read by the schema
        return cast(Handler, once)

    return decorate


def idempotent_outside(handler: Handler) -> Handler:
    """Run a handler that waits outside the database at most once per key, in no transaction.

    The key is honoured where one is given. While the handler runs, the database session holds the
    key's lock: a call at the same time gets 409, and a crash releases the lock.
    """

    @wraps(handler)
    def once(view: PunctualView, request: Request, *args: Any, **kwargs: Any) -> Any:
        def run() -> HttpResponseBase:
            return view.as_seen(handler(view, request, *args, **kwargs))

        call = call_of(view, request, required=False)
        if call is None:
            return run()
        with _held_by_session(call):
            with transaction.atomic(durable=True):
                replayed = _lock_and_replay(call)
            return replayed or _answer_outside(call, request, run)

    once.idempotency_required = False  # type: ignore[attr-defined]  # read by the schema
    return cast(Handler, once)


def answer_once(
    tenant: Tenant, key: str, asked: bytes, run: Callable[[], HttpResponse]
) -> HttpResponse:
    """Run a page's change at most once per key, in one durable transaction.

    ``asked`` identifies the change. The first answer is stored and given again. An error of
    ``run`` undoes the change and stores nothing. Raise IdempotencyMismatch for another change
    under the key, IdempotencyInProgress while the first one runs.
    """
    fingerprint = hashlib.sha256(asked).digest()
    call = Call(tenant.pk, f"console:{key}", fingerprint, tenant.idempotency_seconds)
    with sql.sent_with_commit() as run_last:
        replayed = _lock_and_replay(call)
        if replayed is not None:
            return replayed
        answer = run()
        run_last(*storing([(call, answer)]))
        return answer


def delete_expired_records(limit: int = 5000) -> int:
    """Delete up to ``limit`` answers whose time is over; return how many."""
    expired = IdempotencyRecord.objects.filter(expires_at__lte=database_clock.now())
    ids = list(expired.order_by("expires_at").values_list("pk", flat=True)[:limit])
    return IdempotencyRecord.objects.filter(pk__in=ids).delete()[0]


def run_once(call: Call, request: Request, run: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Run a call at most once under its key, in a durable transaction of its own."""
    try:
        with sql.sent_with_commit() as run_last:
            replayed = _lock_and_replay(call)
            if replayed is not None:
                return replayed
            answer = freeze(_undo_if_refused(run()))
            if answer.status_code < 400:
                run_last(*storing([(call, answer)]))
    except (IdempotencyMismatch, IdempotencyInProgress):
        raise
    except Exception as error:
        refusal = refuse(call, request, error)
        if refusal is None:
            raise
        return refusal
    if answer.status_code >= 400 and _is_stored(answer.status_code):
        _store_apart(call, answer)
    return answer


def refuse(call: Call, request: Request, error: Exception) -> HttpResponse | None:
    """Store and return the refusal of a call that was undone; None for an error that may pass."""
    problem = problem_of(error)
    if not _is_stored(problem.status):
        return None
    log_unexpected(error, problem, request)
    answer = respond(problem, request)
    _store_apart(call, answer)
    return answer


def _answer_outside(
    call: Call, request: Request, run: Callable[[], HttpResponseBase]
) -> HttpResponse:
    try:
        answer = freeze(run())
    except Exception as error:
        refusal = refuse(call, request, error)
        if refusal is None:
            raise
        return refusal
    if _is_stored(answer.status_code):
        _store_apart(call, answer)
    return answer


def queue_of(tenant: Any) -> threading.BoundedSemaphore:
    """Return the queue in which the changes of a tenant wait for their turn in this process."""
    return _QUEUES[hash(tenant) % len(_QUEUES)]


@contextmanager
def _held_by_session(call: Call) -> Iterator[None]:
    if not sql.rows("idempotency/try_to_hold_in_session", {"lock": call.lock})[0][0]:
        raise IdempotencyInProgress
    try:
        yield
    finally:
        sql.rows("idempotency/let_go", {"lock": call.lock})


def call_of(view: PunctualView, request: Request, required: bool) -> Call | None:
    """Return the identity of the call; None without a key. Raise InvalidInput for a bad one."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    caller = view.caller
    if key is None:
        if required or caller.idempotency_required:
            _refuse_key("idempotency_key_missing", "Send an Idempotency-Key header.")
        return None
    if not _KEY.fullmatch(key):
        _refuse_key("idempotency_key_invalid", "An Idempotency-Key has 1-255 visible characters.")
    method = request.method or ""
    asked = orjson.dumps(request.data, option=orjson.OPT_SORT_KEYS)
    path = request.get_full_path()
    content = b"\0".join((caller.identity.encode(), method.encode(), path.encode(), asked))
    return Call(caller.tenant_id, key, view.hash_of(content), caller.idempotency_seconds)


def require_key(request: Request, why: str) -> None:
    """Raise InvalidInput where the call has no key; for a handler that decides late to need one.

    ``why`` is a sentence.
    """
    if "HTTP_IDEMPOTENCY_KEY" not in request.META:
        _refuse_key("idempotency_key_missing", f"Send an Idempotency-Key header. {why}")


def _refuse_key(code: str, message: str) -> NoReturn:
    error = InvalidInput([FieldError("Idempotency-Key", code, message)], message)
    error.code = code
    raise error


def _lock_and_replay(call: Call) -> HttpResponse | None:
    """Lock the key until the transaction ends; return the stored answer where there is one."""
    held, stored = sql.together(
        holding([call]), ("idempotency/find", {"tenant": call.tenant, "key": call.key})
    )
    if not held.rows[0][0]:
        raise IdempotencyInProgress
    if not stored.rows:
        return None
    [(fingerprint, status, sealed_body, headers, expires_at)] = stored.rows
    if expires_at <= database_clock.now():
        IdempotencyRecord.objects.filter(tenant_id=call.tenant, key=call.key).delete()
        return None
    if bytes(fingerprint) != call.fingerprint:
        raise IdempotencyMismatch
    body, kept = open_sealed(sealed_body, call.context), sql.json_value(headers)
    if kept.pop(_ENCODING, None):
        body = gzip.decompress(body)
    answer = HttpResponse(body, status=status)
    _set_content_type(answer)
    for name, value in kept.items():
        answer[name] = value
    answer["Idempotent-Replayed"] = "true"
    return answer


def holding(calls: Sequence[Call]) -> sql.Asked:
    """Return the statement that locks the calls' keys; it returns for each whether it did."""
    # Without the lock, two first calls at once would both run. The statement does not wait for a
    # lock (409). The lock ends with the transaction, so a crash leaves none behind.
    return "idempotency/try_to_hold", {"locks": of_integers([call.lock for call in calls])}


def finding_known(calls: Sequence[Call]) -> sql.Asked:
    """Return the statement that finds the keys, of calls of one tenant, with a stored answer."""
    keys = of_texts([call.key for call in calls])
    return "idempotency/known", {"tenant": calls[0].tenant, "keys": keys}


def storing(answered: Sequence[tuple[Call, HttpResponse]]) -> sql.Asked:
    """Return the statement that stores the answers to calls of one tenant."""
    now = database_clock.now()
    parts = [_stored_parts(call, answer) for call, answer in answered]
    calls = [call for call, _ in answered]
    return "idempotency/store", {
        "tenant": calls[0].tenant,
        "keys": of_texts([call.key for call in calls]),
        "fingerprints": of_blobs([call.fingerprint for call in calls]),
        "statuses": of_integers([answer.status_code for _, answer in answered]),
        "sealed": of_blobs([sealed for sealed, _ in parts]),
        "headers": of_texts([headers for _, headers in parts]),
        "expires_at": of_moments([now + timedelta(seconds=call.seconds) for call in calls]),
    }


def _stored_parts(call: Call, answer: HttpResponse) -> tuple[bytes, str]:
    """Return an answer's body sealed, and its headers that are stored."""
    headers = {name: answer[name] for name in _STORED_HEADERS if name in answer}
    body: bytes = getattr(answer, "stored", answer.content)
    if len(body) > _PLAIN_BYTES:
        body, headers[_ENCODING] = gzip.compress(body, 1), "gzip"
    return seal(body, call.context), orjson.dumps(headers).decode()


def _store_apart(call: Call, answer: HttpResponse) -> None:
    """Store an answer in a transaction of its own, such as a refusal after its rollback.

    Another call may have stored its answer in between. That answer stays. This caller's refusal
    is still true: its call changed nothing.
    """
    with transaction.atomic(durable=True):
        if _is_free(call):
            sql.run(*storing([(call, answer)]))


def _is_free(call: Call) -> bool:
    try:
        return _lock_and_replay(call) is None
    except (IdempotencyMismatch, IdempotencyInProgress):
        return False


def _is_stored(status: int) -> bool:
    return status < 500 and status not in _NOT_STORED


def _undo_if_refused(answer: HttpResponseBase) -> HttpResponseBase:
    if answer.status_code >= 400:
        transaction.set_rollback(True)
    return answer


def freeze(answer: HttpResponseBase) -> HttpResponse:
    """Render the answer now, so that the stored and the sent bytes are the same."""
    if isinstance(answer, HttpResponse) and not isinstance(answer, Response):
        return answer
    response = cast(Response, answer)
    body = b"" if response.data is None else dump_json(response.data)
    frozen = _Frozen(body, status=response.status_code)
    frozen.stored = dump_json(response.repeated) if isinstance(response, ShownOnce) else body
    _set_content_type(frozen)
    for name, value in response.headers.items():
        if name.lower() != "content-type":
            frozen[name] = value
    return frozen


def _set_content_type(answer: HttpResponse) -> None:
    if answer.content:
        answer["Content-Type"] = JSON if answer.status_code < 400 else PROBLEM_JSON
    else:
        del answer["Content-Type"]
