from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from shared import tenant_scope
from shared.tenant_scope import CLEAR, Binding, Purpose

ALPHA, BETA = uuid4(), uuid4()


def test_a_process_without_scopes_has_none_and_entering_one_does_nothing():
    tenant_scope.enter(ALPHA)
    tenant_scope.enter_purpose(Purpose.ADMIN)
    with tenant_scope.scoped(ALPHA), tenant_scope.across(Purpose.SIGN_IN):
        assert tenant_scope.current() is None

    assert tenant_scope.wanted() == CLEAR
    assert tenant_scope.covers(ALPHA)


def test_a_request_begins_without_a_tenant_and_what_it_enters_ends_with_it():
    with tenant_scope.of_request():
        assert tenant_scope.wanted() is None
        tenant_scope.enter(ALPHA)
        assert tenant_scope.wanted() == Binding(tenant_scope.ROLES.web, str(ALPHA), "")
        with tenant_scope.of_request():
            assert tenant_scope.wanted() is None

    assert tenant_scope.current() is None


def test_a_purpose_replaces_the_tenant_for_its_block_only():
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        with tenant_scope.across(Purpose.SIGN_IN):
            bound = tenant_scope.wanted()
            with tenant_scope.scoped(BETA):
                assert not tenant_scope.covers(ALPHA)
        assert tenant_scope.covers(ALPHA)
        assert not tenant_scope.covers(BETA)

    assert bound == Binding(tenant_scope.ROLES.across, "", "sign_in")


def test_a_block_that_fails_gives_the_tenant_back():
    with tenant_scope.of_request():
        tenant_scope.enter(ALPHA)
        try:
            with tenant_scope.scoped(BETA):
                raise ValueError
        except ValueError:
            pass
        assert tenant_scope.covers(ALPHA)


def test_another_thread_has_no_tenant():
    with tenant_scope.of_request(), ThreadPoolExecutor(1) as threads:
        tenant_scope.enter(ALPHA)

        assert threads.submit(tenant_scope.current).result() is None


def test_in_the_web_process_work_outside_of_requests_has_no_tenant_and_may_name_one(monkeypatch):
    monkeypatch.setattr(tenant_scope._Process, "requires_scope", False)
    tenant_scope.require_everywhere()

    assert tenant_scope.current() == tenant_scope.EMPTY
    with tenant_scope.scoped(ALPHA):
        assert tenant_scope.covers(ALPHA)
    with tenant_scope.of_request():
        tenant_scope.enter_purpose(Purpose.ADMIN)
        assert tenant_scope.covers(BETA)
