from __future__ import annotations

import pytest

from worker.handlers import registry
from worker.handlers.registry import find, handler


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})


def test_a_handler_is_found_by_its_name():
    @handler("invoice")
    def invoice(context, payload): ...

    assert find("invoice") is invoice
    assert find("nothing") is None


def test_two_functions_cannot_have_one_name():
    @handler("invoice")
    def one(context, payload): ...

    with pytest.raises(ValueError, match="two handlers are named 'invoice'"):

        @handler("invoice")
        def other(context, payload): ...


def test_a_module_may_be_imported_twice():
    def make():
        @handler("invoice")
        def invoice(context, payload): ...

        return invoice

    make()
    again = make()

    assert find("invoice") is again
