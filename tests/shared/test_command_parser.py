from __future__ import annotations

import pytest
from django.core.management.base import CommandError, CommandParser

from shared.command_parser import Verb, add_verbs, examples_text, meant


def _nothing(command, options):
    raise AssertionError


def _limit(parser):
    parser.add_argument("--limit", type=int)


VERBS = (
    Verb("list", "list what there is", ("things list --json",), _nothing, _limit),
    Verb("cancel", "cancel one", ("things cancel ID",), _nothing, dangerous=True),
    Verb("tail", "follow", ("things tail -f",), _nothing, stream=True),
)


def _parser(*, from_shell: bool = False) -> CommandParser:
    parser = CommandParser(prog="manage.py things", called_from_command_line=from_shell)
    parser.add_argument("--no-color", action="store_true")
    add_verbs(parser, VERBS)
    return parser


def test_every_verb_has_the_common_options():
    listed = _parser().parse_args(["list", "--json", "--quiet", "--limit", "3"])
    cancelled = _parser().parse_args(["cancel", "--yes", "--no-color"])

    assert (listed.verb, listed.json, listed.quiet, listed.limit) == ("list", True, True, 3)
    assert (cancelled.yes, cancelled.no_color) == (True, True)
    assert _parser().parse_args(["tail", "--jsonl"]).jsonl


def test_an_option_before_the_verb_is_not_undone_by_it():
    assert _parser().parse_args(["--no-color", "list"]).no_color
    assert not _parser().parse_args(["list"]).no_color


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["lst"], "Did you mean list?"),
        (["list", "--limt", "3"], "Did you mean --limit?"),
        (["cancel", "--yess=1"], "Did you mean --yes?"),
    ],
)
def test_a_typo_is_answered_with_the_nearest_word(words, suggestion):
    with pytest.raises(CommandError) as refused:
        _parser().parse_args(words)

    assert suggestion in str(refused.value)


def test_wrong_use_from_a_shell_exits_with_2(capsys):
    with pytest.raises(SystemExit) as left:
        _parser(from_shell=True).parse_args(["lst"])

    assert left.value.code == 2
    assert "Did you mean list?" in capsys.readouterr().err


def test_help_ends_with_examples_as_they_are_typed(capsys):
    with pytest.raises(SystemExit):
        _parser(from_shell=True).parse_args(["list", "--help"])

    assert capsys.readouterr().out.endswith("examples:\n  manage.py things list --json\n")
    assert examples_text(["a", "b"]) == "examples:\n  manage.py a\n  manage.py b"


def test_what_is_like_nothing_known_gets_no_suggestion():
    assert meant("invalid choice: 'xyz' (choose from list, show)", []) == ""
    assert meant("invalid choice: 'lis' (choose from 'list', 'show')", []) == ". Did you mean list?"
    assert meant("invalid choice: 'failed' (choose from FAILED)", []) == ". Did you mean FAILED?"
    assert meant("the following arguments are required: ID", []) == ""


def test_what_was_written_is_not_suggested_though_another_verb_has_it():
    assert meant("unrecognized arguments: --yes", ["--yes", "--note"]) == ""
