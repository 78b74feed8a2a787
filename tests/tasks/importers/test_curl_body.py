from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from tasks.importers.curl_body import Body, body_of, encoded


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("a=b c", "a=b%20c"),
        ("a/b", "a%2Fb"),
        ("=a&b", "a%26b"),
        ("a=x@y", "a=x%40y"),
        ("é~._-", "%C3%A9~._-"),
        ("name@file", None),
        ("@file", None),
    ],
)
def test_data_is_encoded_as_curl_does(given, sent):
    assert encoded(given) == sent


def test_an_empty_text_is_no_body():
    assert body_of("", {}, is_json=True).payload is None


def test_json_that_somebody_called_so_has_to_be_json():
    with pytest.raises(InvalidInput, match="The payload: This is not JSON"):
        body_of("{a}", {"content-type": "application/json"}, is_json=False)
    assert body_of("{a}", {}, is_json=False).format == "raw"
    assert body_of("{}", {}, is_json=True) == Body({})
