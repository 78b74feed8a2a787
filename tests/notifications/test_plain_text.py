"""Foreign text cannot steer a header, a terminal or a page."""

from __future__ import annotations

import pytest

from notifications.plain_text import excerpt, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nightly\r\nBcc: eve@example.com", "nightly Bcc: eve@example.com"),
        ("a\x1b[31mred\x00", "a[31mred"),
        ("invoice\u202egpj.exe", "invoicegpj.exe"),
        ("a\u2028b\u0085c", "a b c"),
        ("  spaced   out  ", "spaced out"),
    ],
    ids=["newline", "ansi", "bidi", "separators", "spaces"],
)
def test_a_name_becomes_one_printable_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_a_long_text_is_cut_visibly() -> None:
    assert one_line("x" * 300, 10) == "xxxxxxxxx…"
    assert len(excerpt("y" * 5000)) == 600


@pytest.mark.parametrize(
    "text",
    [
        '{"token": "s3cr3t-value"}',
        "password=s3cr3t-value&x=1",
        "Authorization: Bearer s3cr3t-value",
        '{"api_key":"s3cr3t-value","ok":1}',
        "https://user:s3cr3t-value@example.com/",
    ],
    ids=["json", "form", "header", "key", "url"],
)
def test_what_looks_secret_in_an_answer_is_masked(text: str) -> None:
    assert "s3cr3t" not in excerpt(text)


def test_an_answer_keeps_its_lines() -> None:
    assert excerpt("first\nsecond\n\n") == "first\nsecond"
