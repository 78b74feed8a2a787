"""``manage.py dlq``: the dead letters: causes, lists, one in full, and what to do with them.

Actions take ids or filters. For more than one letter they make a bulk job: the command shows its
exact scope before anything happens, and its items are the counted letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from insight.filter_language.conditions import letters_matching
from insight.filter_language.fields import DEAD_LETTERS
from insight.list_budget import TASKS_ADVICE, read_list
from insight.list_orders import DEAD_LETTER_ORDERS
from operations.bulk.options import add_action_options, add_letter_filters
from operations.dead_letters import actions, letters
from operations.finding import add_list_filter, filter_option, order_option, scope_of
from operations.list_files import add_file_options, print_file, shown_limit
from shared.command_parser import Verb
from shared.commands import VerbCommand, with_former_names, wrong_use

_STATES = {"open": False, "resolved": True, "all": None}


def _groups(command: Any, options: Mapping[str, Any]) -> None:
    groups = list(_chosen(options).grouped_by_signature()[: max(0, options["limit"])])
    command.emit(options, {"groups": groups}, letters.group_lines(groups))


def _list(command: Any, options: Mapping[str, Any]) -> None:
    wanted = filter_option(options["filter"], DEAD_LETTERS)
    order = order_option(options["ordering"], DEAD_LETTER_ORDERS, "-created_at")
    found = _chosen(options)
    if wanted is not None:
        found = letters_matching(found, wanted, scope_of(options["tenant"]))
    if print_file(command, options, "dead_letters", found, order=order):
        return
    limit = shown_limit(options)
    total, page = read_list(
        lambda: (found.count(), list(found.order_by(*order)[:limit])), advice=TASKS_ADVICE
    )
    documents = letters.documents(page, payload=options["with_payloads"])
    document = {"dead_letters": documents, "total": total}
    command.emit(options, document, letters.list_lines(page, wide=options["wide"]))
    if total > len(page):
        command.note(f"{len(page)} of {total} dead letters; see more with --limit")


def _show(command: Any, options: Mapping[str, Any]) -> None:
    letter = letters.find_letter(options["id"])
    document = letters.document(letter, payload=options["with_payloads"])
    command.emit(options, document, letters.show_lines(document))


def _export(command: Any, options: Mapping[str, Any]) -> None:
    documents = letters.export(_chosen(options), payload=options["with_payloads"])
    if options["json"]:
        found = list(documents)
        command.emit(options, {"dead_letters": found, "total": len(found)}, ())
        return
    count = 0
    for document in documents:
        command.emit_line(document)
        count += 1
    command.note(f"{count} dead letters")


def _chosen(options: Mapping[str, Any]) -> Any:
    state, word = options["status"], options["resolved_as"]
    if word is not None and state == "open":
        raise wrong_use("--resolved-as", "open dead letters are not resolved; leave --status out")
    # By default the open letters, which wait for a person.
    state = state or ("open" if word is None else "resolved")
    return letters.matching({**options, "resolved": _STATES[state]})


def _add_filters(parser: Any) -> None:
    add_letter_filters(parser)
    with_former_names(
        parser.add_argument(
            "--status",
            "--state",
            choices=_STATES,
            help="(open, or resolved where --resolved-as is given)",
        )
    )


def _add_group_options(parser: Any) -> None:
    _add_filters(parser)
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")


def _add_list_options(parser: Any) -> None:
    _add_filters(parser)
    add_file_options(parser)
    add_list_filter(parser, "cause:http_status:* label:team:billing", DEAD_LETTER_ORDERS)
    parser.add_argument("--wide", action="store_true", help="full ids and names")
    _add_payload(parser)


def _add_export_options(parser: Any) -> None:
    _add_filters(parser)
    _add_payload(parser)


def _add_show_options(parser: Any) -> None:
    parser.add_argument("id", help="the id, or its end as the list shows it")
    _add_payload(parser)


def _add_payload(parser: Any) -> None:
    with_former_names(
        parser.add_argument(
            "--with-payloads", "--payload", action="store_true", help="show payloads unmasked"
        )
    )


def _action(name: str, text: str, *examples: str) -> Verb:
    return Verb(
        name,
        text,
        tuple(f"dlq {name} {example}" for example in examples),
        actions.act,
        lambda parser: add_action_options(parser, name),
        dangerous=True,
    )


class Command(VerbCommand):
    """Look at dead letters, retry, resolve, archive, purge and export them."""

    help = "Executions that failed for good: look at them and decide what becomes of them."
    verbs = (
        Verb(
            "groups",
            "count dead letters by cause, most frequent first",
            ("dlq groups", "dlq groups --tenant default --json"),
            _groups,
            _add_group_options,
        ),
        Verb(
            "list",
            "list dead letters, newest first",
            (
                "dlq list --signature http_status:503",
                "dlq list --status all --wide",
                "dlq list --resolved-as fixed",
                "dlq list --filter 'http:5xx host:api.example.com'",
            ),
            _list,
            _add_list_options,
            stream=True,
        ),
        Verb(
            "show",
            "show a dead letter with its attempts and the last answer",
            ("dlq show 1f2e3d4c5b6a --with-payloads",),
            _show,
            _add_show_options,
        ),
        _action(
            "retry",
            "run the work again and resolve as retried",
            "1f2e3d4c5b6a --payload '{\"n\": 2}'",
            "--signature http_status:503 --rate 10/s --canary 5 --stop-on-failure-rate 0.5",
        ),
        _action(
            "resolve",
            "close without running again",
            '--task 1f2e3d4c5b6a --note "sent by hand"',
        ),
        _action("archive", "put aside", "--q invoice --yes"),
        _action("purge", "remove with payload", "--all --dry-run"),
        Verb(
            "export",
            "print one JSON line for each dead letter, oldest first",
            ("dlq export --status all > letters.jsonl",),
            _export,
            _add_export_options,
            stream=True,
        ),
    )
