"""The base of every REST view: strict input, the caller's identity, versions.

A view states what it takes (``scopes``, ``query_parameters``, ``max_body_bytes``) and who sees its
answers (``seen_with``, ``receipt``), parses with
``read_body``, calls one service and answers. Changes go through
``api.idempotency.idempotent``, which opens the durable transaction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, ClassVar, cast
from uuid import UUID

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import salted_hmac
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from api.protocol.accept import best, names, not_acceptable
from api.protocol.authentication import Credentials
from api.protocol.query import Parameter, read_query
from api.protocol.rate_limits import CallRate, at_once, counts
from api.protocol.renderers import JSON, PROBLEM_JSON
from events.audit.readings import note_readings
from shared import payload_sight, process_sight
from shared.actor import Actor
from shared.conf import conf
from shared.exceptions import FieldError, Forbidden, InvalidInput, NotAcceptable, VersionMismatch
from shared.request_actor import actor_of
from shared.table_files import MEDIA_TYPES

#: Ids of a path that are on the log lines of its call.
_LOGGED_IDS = ("task_id", "execution_id", "run_id")
_IF_MATCH = re.compile(r'"([0-9]{1,9})"|([0-9]{1,9})')


class PunctualView(APIView):
    """A REST view; ``self.query`` holds the parameters, ``self.caller`` who asks."""

    #: Method -> scope; by default safe methods need ``read``, others ``write``; None: any key.
    scopes: ClassVar[Mapping[str, str | None]] = {}
    #: The scope that reading needs: without it a change is answered with its receipt.
    seen_with: ClassVar[str] = "read"
    #: The fields of an answer that its receipt has: only names, states and counts of the row.
    receipt: ClassVar[frozenset[str]] = frozenset({"id", "status", "version"})
    #: The kind of rows whose payloads its answers show, for the audit; "" where they show none.
    reads: ClassVar[str] = ""
    #: The methods whose answers show rows as they are stored: not what the call itself has sent.
    reads_by: ClassVar[frozenset[str]] = frozenset({"GET", "PATCH", "PUT"})
    #: Whether bodies are secrets as such, of which no plain hash is stored.
    takes_secrets: ClassVar[bool] = False
    #: Status -> when the path answers it, for problems that the document does not derive.
    problems: ClassVar[Mapping[int, str]] = {}
    #: Method -> query parameters; any other one is 400.
    query_parameters: ClassVar[Mapping[str, Mapping[str, Parameter]]] = {}
    #: The types of its answers; a caller has to accept one of them.
    served_as: ClassVar[tuple[str, ...]] = (JSON,)
    #: The types of a list's files, which GET offers besides.
    files_as: ClassVar[tuple[str, ...]] = ()
    #: Methods that compare If-Match with a version; to others it is refused.
    versioned: ClassVar[frozenset[str]] = frozenset()
    throttle_classes = (CallRate,)
    # No OPTIONS: its answer would show names of classes.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    metadata_class = None
    query: dict[str, Any]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Note the length of a chunked body, which REST framework takes for an empty one."""
        if "CONTENT_LENGTH" not in request.META and request.method not in ("GET", "HEAD"):
            request.META["CONTENT_LENGTH"] = str(len(request.body))
        return super().initialize_request(request, *args, **kwargs)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer, and leave no reference cycle behind.

        A cycle of the view, its request and its answer would stay in memory until Python's garbage
        collector runs, and the collector stops every thread of the process.
        """
        try:
            response = super().dispatch(request, *args, **kwargs)
        finally:
            sight = vars(self).pop("_sight", None)
            if sight is not None:
                payload_sight.end(sight)
            processes = vars(self).pop("_processes", None)
            if processes is not None:
                process_sight.end(processes)
            counted = vars(self).pop("_counted", None)
            if counted is not None:
                at_once.end(counted)
        self.request.parser_context.clear()
        for name in ("response", "head"):
            vars(self).pop(name, None)
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse the method, the caller, unknown query parameters; then changes by Accept."""
        method = request.method or ""
        if not hasattr(self, method.lower()) or method.lower() not in self.http_method_names:
            takes = ", ".join(self.allowed_methods)
            raise MethodNotAllowed(method, f"This path does not take {method[:20]}, only {takes}.")
        super().initial(request, *args, **kwargs)
        if counts(request, self):
            self._counted = at_once.begin(self.tenant_id)
        # The token of an execution is handed out with its payload.
        self._sight = payload_sight.begin(getattr(request.auth, "sees_payloads", True))
        self._processes = process_sight.begin(conf().processes_public)
        if request.auth is not None:
            ids = {name: str(kwargs[name]) for name in _LOGGED_IDS if name in kwargs}
            structlog.contextvars.bind_contextvars(tenant_id=str(self.tenant_id), **ids)
        stated = self.query_parameters.get("GET" if method == "HEAD" else method, {})
        self.query = read_query(request.query_params, stated)
        if method not in SAFE_METHODS:
            self.refuse_unacceptable()
            if self.expected_version is not None and method not in self.versioned:
                # Not ignored: the caller relies on it to keep newer changes from being overwritten.
                raise VersionMismatch("This call compares no versions: leave If-Match out.")

    def check_permissions(self, request: Request) -> None:
        """Count the call, then check its scope: one that is refused costs the server as much."""
        super().check_throttles(request)
        super().check_permissions(request)

    def check_throttles(self, request: Request) -> None:
        """Do nothing: the call has been counted."""

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Refuse a reading by Accept once it has an answer: errors keep their own status."""
        if response.status_code < 400 and request.method in SAFE_METHODS:
            try:
                self.refuse_unacceptable()
            except NotAcceptable as error:
                response = self.handle_exception(error)
        spent = getattr(request, "spent", None)
        if spent is not None:
            for name, value in spent.headers().items():
                response[name] = value
        answer = super().finalize_response(request, response, *args, **kwargs)
        if self.reads and answer.status_code < 300 and request.method in self.reads_by:
            self._note_reading(response)
        return answer

    def _note_reading(self, answer: HttpResponseBase) -> None:
        """Record whose payloads the answer shows: of its row, of its list, or of its path."""
        if not self.caller.sees_payloads or not self.may_see:
            return
        data = getattr(answer, "data", None)
        rows: list[Any] = [one for one in self.kwargs.values() if isinstance(one, UUID)][:1]
        if isinstance(data, Mapping) and "id" in data:
            rows = [data["id"]]
        elif isinstance(data, Mapping):
            lists = [part for part in data.values() if isinstance(part, list)]
            found = [row["id"] for part in lists for row in part if _has_id(row)]
            rows = found or (rows if any(lists) or not lists else [])
        note_readings(self.tenant_id, self.actor, self.reads, rows)

    def refuse_unacceptable(self) -> None:
        """Raise NotAcceptable (406) where the caller's Accept rules the answer out.

        A caller that names only the type of problems reads JSON as well.
        """
        header = self.request.META.get("HTTP_ACCEPT", "")
        if best(header, self.offered) is None and not names(header, PROBLEM_JSON):
            raise not_acceptable(self.offered)

    @property
    def offered(self) -> tuple[str, ...]:
        """Return the types of the answers to this method."""
        reading = self.request.method in SAFE_METHODS
        return (*self.served_as, *self.files_as) if reading else self.served_as

    @property
    def file_format(self) -> str | None:
        """Return the format of the file that the caller asks for; None for JSON.

        For lists with ``files_as`` and the parameter ``format``.
        """
        given = self.query["format"]
        if given is None:
            found = best(self.request.META.get("HTTP_ACCEPT", ""), self.offered)
            given = next((name for name, kind in MEDIA_TYPES.items() if kind == found), "json")
        return None if given == "json" else str(given)

    @property
    def caller(self) -> Credentials:
        """Return the verified caller."""
        return cast(Credentials, self.request.auth)

    @property
    def tenant_id(self) -> UUID:
        """Return the caller's tenant, whose rows alone this call may see."""
        return self.caller.tenant_id

    @property
    def actor(self) -> Actor:
        """Return the caller as the audit log names it."""
        return actor_of(self.request, self.caller.name)

    def read_body(
        self, serializer_class: type[BaseSerializer[Any]], **options: Any
    ) -> dict[str, Any]:
        """Return the body as the serializer validates it; raise ValidationError (400)."""
        context = {"request": self.request, "view": self}
        serializer = serializer_class(data=self.request.data, context=context, **options)
        serializer.is_valid(raise_exception=True)
        return cast(dict[str, Any], serializer.validated_data)

    def hash_of(self, content: bytes) -> bytes:
        """Return the hash that is stored of a call, keyed where bodies are secrets.

        A plain hash of a short secret could be guessed by who reads the database.
        """
        if self.takes_secrets:
            return salted_hmac("punctual.idempotency", content, algorithm="sha256").digest()
        return hashlib.sha256(content).digest()

    def require_scope(self, scope: str, doing: str) -> None:
        """Raise Forbidden where the key does not have the scope for a part of the call."""
        if scope not in self.caller.scopes:
            raise Forbidden(f"{doing} needs a key with the scope {scope!r} besides.")

    def as_seen(self, answer: HttpResponseBase) -> HttpResponseBase:
        """Return the answer to a change as the caller may see it: whole, or the receipt."""
        if self.may_see or answer.status_code >= 400:
            return answer
        if isinstance(answer, Response) and answer.data is not None:
            answer.data = {name: answer.data[name] for name in answer.data if name in self.receipt}
        return answer

    @property
    def may_see(self) -> bool:
        """Return whether the caller may read what the view changes."""
        return self.seen_with in self.caller.scopes

    @property
    def expected_version(self) -> int | None:
        """Return the version of ``If-Match`` (``"3"`` or ``3``), or None where none is asked."""
        header = self.request.META.get("HTTP_IF_MATCH", "").strip()
        if header in ("", "*"):
            return None
        found = _IF_MATCH.fullmatch(header)
        if not found:
            message = 'Give the version in If-Match, for instance "3".'
            raise InvalidInput([FieldError("If-Match", "if_match_invalid", message)], message)
        return int(found[1] or found[2])


def _has_id(row: object) -> bool:
    return isinstance(row, Mapping) and "id" in row
