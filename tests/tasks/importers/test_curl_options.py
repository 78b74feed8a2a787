from __future__ import annotations

import pytest

from tasks.importers.curl_options import _OPTIONS, _SHORT, _SHORT_NAMES, Kind, split_options


class _Refused(Exception):
    pass


def _split(*words: str) -> list[tuple[str, str]]:
    found = split_options(words, _Refused)
    return [(option.name if option else "", value) for option, value in found]


def test_long_options_take_the_next_word_or_what_follows_the_equals_sign():
    assert _split("--request", "PUT", "--request=PUT") == [("--request", "PUT")] * 2


def test_short_options_may_be_put_together():
    assert _split("-sSLXPOST", "-X", "PUT") == [
        *(("--silent", ""), ("--show-error", ""), ("--location", "")),
        *(("--request", "POST"), ("--request", "PUT")),
    ]


def test_plain_words_are_urls_also_after_two_dashes():
    assert _split("a", "-", "--", "-X") == [("", "a"), ("", "-"), ("", "-X")]


def test_a_flag_may_stand_for_a_value():
    assert _split("-I") == [("--head", "HEAD")]


def test_a_value_may_look_like_an_option():
    assert _split("-d", "-X") == [("--data", "-X")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--unheard-of"], "--unheard-of"),
        (["-s!"], "-!"),
        (["-X"], "-X needs a value"),
        (["--header"], "--header needs a value"),
    ],
)
def test_what_is_not_known_is_refused_by_name(words: list[str], told: str):
    with pytest.raises(_Refused, match=told):
        _split(*words)


def test_a_flag_may_be_turned_off():
    assert _split("--no-keepalive", "--no-progress-meter", "a") == [
        *(("--no-", ""), ("--no-", "")),
        ("", "a"),
    ]
    with pytest.raises(_Refused):
        _split("--no-header", "a")


def test_every_short_name_and_every_long_one_is_of_one_option():
    names = [option.name for option in _OPTIONS]

    assert len(names) == len(set(names))
    assert len(_SHORT_NAMES) == 2 * len(_SHORT)


def test_files_are_refused():
    for words in (["-T", "f"], ["-K", "f"], ["-F", "a=b"]):
        ((option, _),) = split_options(words, _Refused)
        assert option is not None
        assert option.kind is Kind.REFUSED
