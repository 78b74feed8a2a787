from __future__ import annotations

import pytest

from api.protocol.authentication import bearer_token
from tests.api.protocol.probe import credentials


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        ("", None),
        ("Basic dXNlcg==", None),
        ("Bearer", ""),
        ("Bearer   ", ""),
        ("Bearer one two", ""),
        ("Bearer key", "key"),
        ("bearer key", "key"),
        ("  Bearer   key  ", "key"),
    ],
)
def test_only_a_bearer_header_gives_a_token(rf, header, token):
    headers = {} if header is None else {"authorization": header}

    assert bearer_token(rf.get("/", headers=headers)) == token


def test_credentials_count_as_a_user_that_is_known():
    assert credentials(["read"]).is_authenticated
