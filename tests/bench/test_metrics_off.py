from __future__ import annotations

from pathlib import Path

from bench.installation import CHECKOUT
from bench.metrics_off import EDITS
from bench.mutations import mutated

_ADDING = "INTO metric_totals"
#: What the batches hand over, nothing without counting; and the folding, which has no turn.
_GIVEN, _FOLDED = "%(series)s", "executions/sql/totals.sql"


def _edited(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    for edit in EDITS:
        if edit.path == str(path.relative_to(CHECKOUT)):
            text = mutated(text, edit)
    return text


def test_each_edit_takes_something_out_of_the_code_as_it_is():
    for path in {CHECKOUT / edit.path for edit in EDITS}:
        assert _edited(path) != path.read_text(encoding="utf-8")


def test_no_statement_adds_to_the_totals_any_more():
    seen = 0
    for path in CHECKOUT.glob("*/sql/*.sql"):
        _, *adding = _edited(path).split(_ADDING)
        if str(path.relative_to(CHECKOUT)) != _FOLDED:
            seen += len(adding)
            assert all("HAVING false" in text or _GIVEN in text[:200] for text in adding), path

    assert seen == 6
