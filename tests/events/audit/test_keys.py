from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from uuid import uuid4

from events.audit import keys

KEY = b"k" * 32


def test_each_entry_has_a_key_of_its_own():
    entry = uuid4()

    assert keys.key_of_entry(KEY, entry) == keys.key_of_entry(KEY, entry)
    assert keys.key_of_entry(KEY, entry) != keys.key_of_entry(KEY, uuid4())


def test_the_two_hashes_of_the_database_are_an_hmac():
    entry = uuid4()
    pads = keys.pads_of_entry(KEY, entry)
    inside = hashlib.sha256(pads.inner + b"content").digest()

    expected = hmac.digest(keys.key_of_entry(KEY, entry), b"content", "sha256")
    assert hashlib.sha256(pads.outer + inside).digest() == expected


def test_without_a_key_there_are_no_pads_and_no_fingerprints(settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})

    assert keys.active_key() == (keys.PLAIN, b"")
    assert keys.pads_of_entry(b"", uuid4()) == (b"", b"")
    assert keys.fingerprint_of(b"secret") == ""


def test_a_fingerprint_needs_the_key(settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={"a": KEY, "b": b"b" * 32})
    by_first = keys.fingerprint_of(b"secret")

    assert keys.key_ids() == ["a", "b"]
    assert by_first == keys.fingerprint_of(b"secret") != keys.fingerprint_of(b"other")
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={"b": b"b" * 32})
    assert keys.fingerprint_of(b"secret") != by_first
