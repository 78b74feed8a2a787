"""A filter as it is understood: terms of known fields, which render to one canonical text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from insight.filter_language.fields import Field, Vocabulary
from insight.filter_language.tokens import FilterError, Token, Word, quoted, split


@dataclass(frozen=True, slots=True)
class Value:
    """A value in its canonical spelling, and what conditions read of it."""

    text: str
    meaning: Any


@dataclass(frozen=True, slots=True)
class Term:
    """Rows match if one of the values does, or none where the term is negated.

    Without a key the one value is free text.
    """

    key: str | None
    values: tuple[Value, ...]
    negated: bool = False

    @property
    def text(self) -> str:
        """The term in its canonical spelling."""
        sign = "-" if self.negated else ""
        if self.key is None:
            return sign + quoted(self.values[0].text, is_text=True)
        return f"{sign}{self.key}:{','.join(quoted(value.text) for value in self.values)}"


@dataclass(frozen=True, slots=True)
class Filter:
    """Terms that all have to match; ``text`` is the canonical filter, "" where there are none."""

    vocabulary: Vocabulary
    terms: tuple[Term, ...] = ()

    @property
    def text(self) -> str:
        """The filter in its canonical spelling, which reads as the same filter."""
        return " ".join(term.text for term in self.terms)

    def values_of(self, key: str) -> list[str]:
        """Return the values of a field that rows may have by this filter; [] for any."""
        return [
            value.text
            for term in self.terms
            if term.key == key and not term.negated
            for value in term.values
        ]

    def without(self, key: str) -> Filter:
        """Return the filter without terms of the field, negated ones too."""
        return replace(self, terms=tuple(term for term in self.terms if term.key != key))

    def without_term(self, place: int) -> Filter:
        """Return the filter without the term at this place."""
        return replace(self, terms=self.terms[:place] + self.terms[place + 1 :])

    def taking_text(self) -> tuple[Filter, str | None]:
        """Return the filter without its first free text, and that text; None where it has none."""
        for place, term in enumerate(self.terms):
            if term.key is None and not term.negated:
                return self.without_term(place), term.values[0].text
        return self, None

    def and_text(self, text: str) -> Filter:
        """Return the filter with the terms of another text; raise FilterError."""
        return replace(self, terms=(*self.terms, *parse(text, self.vocabulary).terms))

    def and_free_text(self, text: str) -> Filter:
        """Return the filter with a free text, which may have quotes and colons in it."""
        return replace(self, terms=(*self.terms, Term(None, (Value(text, text),))))


def parse(text: str, vocabulary: Vocabulary) -> Filter:
    """Return the filter that a text means for a list.

    Raise FilterError with the position and, for a word that is nearly right, a suggestion.
    """
    terms = [_term(token, vocabulary) for token in split(text)]
    return Filter(vocabulary, tuple(terms))


def _term(token: Token, vocabulary: Vocabulary) -> Term:
    if token.key is None:
        [word] = token.words
        return Term(None, (Value(word.text, word.text),), token.negated)
    field = _field(token.key, token, vocabulary)
    found = tuple(_value(word, field) for word in token.words)
    return Term(field.name, found, token.negated)


def _field(key: Word, token: Token, vocabulary: Vocabulary) -> Field:
    field = vocabulary.fields.get(key.text.lower())
    if field is not None:
        return field
    near = get_close_matches(key.text.lower()[:100], list(vocabulary.fields), n=1)
    hint = f" Did you mean {near[0]}:?" if near else f" Fields: {', '.join(vocabulary.fields)}."
    text = quoted(f"{key.text}:{token.words[0].text}", is_text=True)[:100]
    message = f"There is no field {key.text[:40]!r} here.{hint} To find that text, write {text}."
    raise FilterError(message, key.position)


def _value(word: Word, field: Field) -> Value:
    try:
        meaning = field.kind.read(word.text)
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{field.name}: {error}", word.position) from None
    if not field.listed:
        return Value(word.text, meaning)
    if meaning not in field.listed:
        near = get_close_matches(meaning[:100], field.listed, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        message = f"{field.name} is one of {', '.join(field.listed)}.{hint}"
        raise FilterError(message, word.position)
    return Value(meaning, meaning)
