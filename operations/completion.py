"""Scripts by which shells complete ``manage.py``: commands, verbs, options and their words.

A script holds all words, so that a completion starts no Python. It is of the version that wrote it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from operations.command_list import Door, Listed, commands

#: Of Django, for every command; a list of twenty options would hide the command's own.
_DJANGO = frozenset(
    {
        *("--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
        *("--force-color", "--skip-checks", "--help"),
    }
)

_BASH = """\
_punctual() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local place=1 key= words=
    COMPREPLY=()
    case ${{COMP_WORDS[0]##*/}} in
        python*) place=2; [[ ${{COMP_WORDS[1]##*/}} == manage.py ]] || return ;;
    esac
    if (( COMP_CWORD <= place )); then
        words='{commands}'
    else
        key=${{COMP_WORDS[place]}}
        (( COMP_CWORD == place + 1 )) || case $key in
            {with_verbs}) key+=" ${{COMP_WORDS[place+1]}}" ;;
        esac
        case "$key $previous" in
{values}
        esac
        [[ -n $words ]] || case $key in
{words}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _punctual manage.py python python3
"""
_ZSH = """\
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
"""


def bash() -> str:
    """Return the script for bash: ``source <(manage.py completion bash)``."""
    found = list(commands())
    doors = [door for listed in found for door in listed.doors]
    values = [
        _case(f"{' '.join(door.words)} {word}", choices)
        for door in doors
        for action in _options(door)
        if (choices := _choices(action))
        for word in action.option_strings
    ]
    words = [_case(*_of_command(listed)) for listed in found if listed.verbs]
    words += [_case(" ".join(door.words), _words(door)) for door in doors]
    return _BASH.format(
        commands=" ".join(listed.top.words[0] for listed in found),
        with_verbs="|".join(listed.top.words[0] for listed in found if listed.verbs),
        values="\n".join(values),
        words="\n".join(words),
    )


def zsh() -> str:
    """Return the script for zsh, which completes by that of bash."""
    return _ZSH + bash()


def fish() -> str:
    """Return the script for fish: ``manage.py completion fish | source``."""
    return "\n".join([line for listed in commands() for line in _fish(listed)]) + "\n"


#: Shell -> its script.
SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def _of_command(listed: Listed) -> tuple[str, list[str]]:
    return listed.top.words[0], [verb.words[1] for verb in listed.verbs]


def _case(pattern: str, words: Sequence[str]) -> str:
    return f"            '{pattern}') words='{' '.join(words)}' ;;"


def _options(door: Door) -> list[argparse.Action]:
    return [one for one in door.options if not _DJANGO & {*one.option_strings}]


def _choices(action: argparse.Action) -> list[str]:
    return [str(one) for one in action.choices or () if str(one).isprintable()]


def _words(door: Door) -> list[str]:
    """Return its long options, and the words that an argument may be."""
    found: list[str] = []
    for action in _options(door):
        if action.option_strings:
            found += [word for word in action.option_strings if word.startswith("--")]
        else:
            found += _choices(action)
    return found


def _fish(listed: Listed) -> Iterator[str]:
    name = listed.top.words[0]
    yield (
        "complete -c manage.py -f -n __fish_use_subcommand "
        f"-a {name} -d {_quoted(_first_sentence(listed.top.help))}"
    )
    here = f"__fish_seen_subcommand_from {name}"
    verbs = " ".join(verb.words[1] for verb in listed.verbs)
    for verb in listed.verbs:
        condition = f"{here}; and not __fish_seen_subcommand_from {verbs}"
        yield (
            f"complete -c manage.py -f -n {_quoted(condition)} "
            f"-a {verb.words[1]} -d {_quoted(verb.help)}"
        )
    for door in listed.doors:
        within = f"{here}; and __fish_seen_subcommand_from {door.words[-1]}"
        yield from _fish_options(door, within if listed.verbs else here)


def _fish_options(door: Door, condition: str) -> Iterator[str]:
    for action in _options(door):
        choices = f" -a {_quoted(' '.join(_choices(action)))}" if _choices(action) else ""
        if not action.option_strings:
            if choices:
                yield f"complete -c manage.py -f -n {_quoted(condition)}{choices}"
            continue
        takes = "" if action.nargs == 0 else " -r"
        for word in action.option_strings:
            if word.startswith("--"):
                yield (
                    f"complete -c manage.py -n {_quoted(condition)} -l {word[2:]}{takes}"
                    f"{' -f' if choices else ''}{choices} -d {_quoted(_meaning(action))}"
                )


def _meaning(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].removesuffix(".")


def _quoted(text: str) -> str:
    """Return a word of fish in single quotes, within which only two characters mean something."""
    safe = " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{safe}'"
