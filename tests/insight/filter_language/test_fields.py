from __future__ import annotations

import pytest

from insight.filter_language.fields import VOCABULARIES
from insight.filter_language.terms import parse


@pytest.mark.parametrize("name", VOCABULARIES)
def test_the_example_of_every_field_is_read(name: str):
    vocabulary = VOCABULARIES[name]

    for field in vocabulary.fields.values():
        [term] = parse(field.example, vocabulary).terms
        assert term.key == field.name
        for value in (*field.listed, *field.kind.examples):
            assert parse(f"{field.name}:{value}", vocabulary).values_of(field.name) == [value]
