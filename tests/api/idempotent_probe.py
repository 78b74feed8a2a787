"""Idempotent views that create tenants, or fail as a test wants; for tests of idempotency."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from api.idempotency import freeze, idempotent
from api.idempotency_groups import Outcome, Together, idempotent_together
from api.protocol.views import PunctualView
from shared.actor import COMMAND
from shared.sql import Done
from shared.tenant_scope import Purpose, across
from tenants.models import Tenant
from tenants.services import create_tenant


class Script:
    """What the views do besides, and how often they ran."""

    def __init__(self) -> None:
        self.runs = 0
        self.groups: list[list[str]] = []
        self.before_answer: Callable[[], Any] = lambda: None
        self.before_group: Callable[[list[str]], Any] = lambda names: None
        self.outcomes: dict[str, Outcome] = {}
        self.entered = threading.Event()
        self.may_answer = threading.Event()

    def wait(self) -> None:
        """Stay inside of the call until the test lets it go on."""
        self.entered.set()
        assert self.may_answer.wait(120)


script = Script()


def _create(name: str) -> Tenant:
    """Create a tenant, which no view of the product does."""
    with across(Purpose.ADMIN):
        return create_tenant(name, actor=COMMAND)


class CreateView(PunctualView):
    @idempotent(required=True)
    def post(self, request: Request) -> Response:
        script.runs += 1
        tenant = _create(f"made {script.runs}")
        answer = script.before_answer()
        if isinstance(answer, Response):
            return answer
        body = {"id": tenant.id, "secret": "canary-text", "run": script.runs}
        return Response(body, status=201, headers={"Location": f"/v1/made/{script.runs}"})

    @idempotent(required=False)
    def patch(self, request: Request) -> Response:
        script.runs += 1
        return Response({"run": script.runs})


def _make(views: Sequence[Any], done: Sequence[Done]) -> list[Outcome]:
    names = [view.request.data["name"] for view in views]
    script.groups.append(names)
    script.before_group(names)
    assert done[0].rows
    return [script.outcomes.get(name) or _made(name) for name in names]


def _made(name: str) -> Outcome:
    _create(name)
    return freeze(Response({"name": name}, status=201, headers={"Location": f"/v1/made/{name}"}))


TOGETHER = Together(lambda tenant_id: [("leases/database_time", {})], _make)


class TogetherView(PunctualView):
    @idempotent_together(TOGETHER)
    def post(self, request: Request) -> Any:
        return TOGETHER.run_alone(self)


urlpatterns = [
    path("v1/make", CreateView.as_view()),
    path("v1/make-other", CreateView.as_view()),
    path("v1/make-together", TogetherView.as_view()),
]
