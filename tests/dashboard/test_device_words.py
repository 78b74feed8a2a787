from __future__ import annotations

import pytest

from dashboard.device_words import device_words

_MOZILLA = "Mozilla/5.0"


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (
            f"{_MOZILLA} (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (
            f"{_MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/140.0.0.0 Safari/537.36",
            "Chrome on Windows",
        ),
        (
            f"{_MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 "
            "Safari/537.36 Edg/140.0",
            "Edge on Windows",
        ),
        (
            f"{_MOZILLA} (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
            "Version/18.0 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        (f"{_MOZILLA} (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        (f"{_MOZILLA} (Macintosh; Intel Mac OS X 14) Version/18.0 Safari/605.1", "Safari on macOS"),
        ("curl/8.5.0", "curl"),
        (_MOZILLA, "Unknown browser"),
        ("", "Unknown browser"),
        ("<script>alert(1)</script>", "Unknown browser"),
    ],
)
def test_a_browser_is_named_in_words(user_agent, words):
    assert device_words(user_agent) == words
