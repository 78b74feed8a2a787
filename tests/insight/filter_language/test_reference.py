from __future__ import annotations

from insight.filter_language.fields import VOCABULARIES
from insight.filter_language.reference import render_filters
from tests.architecture import tree

PAGE = tree.REPOSITORY / "docs" / "reference" / "filters.md"
WRITE = (
    "run: python -c 'from insight.filter_language.reference import render_filters as r; "
    'print(r(), end="")\' > docs/reference/filters.md'
)


def test_the_reference_page_is_what_the_fields_say():
    assert PAGE.read_text(encoding="utf-8") == render_filters(), WRITE


def test_the_page_has_every_field_of_every_list():
    text = render_filters()

    for vocabulary in VOCABULARIES.values():
        for name in vocabulary.fields:
            assert f"| `{name}` |" in text
