from __future__ import annotations

import pytest

from events.audit import INSTALLATION, record
from operations.audit_log.chains import all_chains, chosen_chain, names_of
from shared.exceptions import InvalidInput, NotFound
from tests.events.audit.tampering import forget_chains

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_other_chains(db: None) -> None:
    forget_chains()


def chosen(tenant=None, *, installation=False):
    return chosen_chain({"tenant": tenant, "installation": installation})


def test_a_chain_is_that_of_a_tenant_or_of_the_installation(alpha):
    assert chosen() == chosen("Alpha") == chosen(str(alpha.id)) == alpha.id
    assert chosen(installation=True) == INSTALLATION


@pytest.mark.parametrize("name", ["nobody", "00000000-0000-4000-8000-000000000001"])
def test_a_chain_that_is_not_there_is_not_found(alpha, name):
    with pytest.raises(NotFound):
        chosen(name)


def test_one_of_several_tenants_has_to_be_named(alpha, beta):
    with pytest.raises(InvalidInput):
        chosen()


def test_all_chains_have_entries(alpha, beta):
    record(INSTALLATION, "system", "backup.made", "backup", "b")

    assert set(all_chains()) == {alpha.id, beta.id, INSTALLATION}
    assert names_of(all_chains()) == {
        alpha.id: "Alpha",
        beta.id: "Beta",
        INSTALLATION: "installation",
    }
