from __future__ import annotations

import dataclasses
from uuid import uuid4

import pytest

from shared import execution_tokens
from shared.conf import conf
from shared.encryption import DecryptionFailed

ID = str(uuid4())


@pytest.fixture
def use_keys(settings):
    def use(**keys: bytes) -> None:
        settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)

    return use


def test_a_token_says_the_fencing_token_it_was_made_for():
    assert execution_tokens.verify(execution_tokens.make(ID, 2**62), ID) == 2**62


def test_a_token_opens_no_other_execution():
    assert execution_tokens.verify(execution_tokens.make(ID, 7), str(uuid4())) is None


def test_every_altered_character_is_noticed():
    token = execution_tokens.make(ID, 17)

    for place, character in enumerate(token[:-1]):
        other = "A" if character != "A" else "B"
        assert execution_tokens.verify(token[:place] + other + token[place + 1 :], ID) is None


@pytest.mark.parametrize(
    "token", ["", ".", "7", "7.", "x" * 5000, "7." + "A" * 43, "-1." + "A" * 43, "٣." + "A" * 43]
)
def test_what_is_no_token_is_refused(token: str):
    assert execution_tokens.verify(token, ID) is None


def test_a_number_has_one_spelling():
    token = execution_tokens.make(ID, 7)

    assert execution_tokens.verify("0" + token, ID) is None


def test_a_token_outlives_the_rotation_of_its_key_and_not_its_removal(use_keys):
    use_keys(old=b"o" * 32)
    token = execution_tokens.make(ID, 7)

    use_keys(new=b"n" * 32, old=b"o" * 32)
    assert execution_tokens.verify(token, ID) == 7
    assert execution_tokens.make(ID, 7) != token

    use_keys(new=b"n" * 32)
    assert execution_tokens.verify(token, ID) is None


def test_without_a_key_there_is_no_token(use_keys):
    use_keys()

    with pytest.raises(DecryptionFailed):
        execution_tokens.make(ID, 7)
