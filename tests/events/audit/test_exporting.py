from __future__ import annotations

import csv
import io
from uuid import uuid4

import pytest

from events import audit
from events.audit.exporting import (
    FIELDS,
    Unreadable,
    export_entries,
    read_document,
)
from events.audit.verifying import Fault, examine_entries
from shared.table_files import csv_lines
from tests.events.audit.tampering import make_chain

pytestmark = pytest.mark.django_db


def verified(chain, documents):
    read = [read_document(one) for one in documents]
    return examine_entries(chain, iter([entry for entry, _ in read]), read[0][1])


@pytest.mark.parametrize(("first", "last"), [(1, None), (3, None), (2, 4)])
def test_an_export_verifies_by_itself(first, last, monkeypatch):
    monkeypatch.setattr("events.audit.exporting._AT_ONCE", 2)
    chain = make_chain(5)
    documents = list(export_entries(chain, first, last))

    verdict = verified(chain, documents)

    assert [one["sequence"] for one in documents] == list(range(first, (last or 5) + 1))
    assert (verdict.fault, verdict.first, verdict.count) == (None, first, len(documents))


def test_an_altered_export_does_not_verify():
    chain = make_chain(4)
    documents = list(export_entries(chain))
    documents[2]["actor"] = "user:99"

    verdict = verified(chain, documents)

    assert (verdict.fault, verdict.breaks_at) == (Fault.ALTERED, 3)


def test_a_document_that_is_no_entry_is_refused():
    with pytest.raises(Unreadable, match="no exported audit entry"):
        read_document({"sequence": 1})


def test_no_cell_of_a_table_is_a_formula():
    chain = uuid4()
    audit.record(chain, '=cmd|"/C calc"!A0', "task.updated", "task", "t")

    heading, row = csv.reader(io.StringIO("".join(csv_lines(FIELDS, export_entries(chain)))))

    assert heading == list(FIELDS)
    assert row[FIELDS.index("actor")].startswith("'=")
