"""``manage.py audit verify`` and ``audit heads``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from django.core.management.base import CommandParser

from events.audit.exporting import Unreadable, read_document
from events.audit.heads import Kept, Written, directory, read_heads, write_heads
from events.audit.verifying import (
    MEANINGS,
    Head,
    Verdict,
    examine,
    examine_entries,
    missing_guards,
)
from events.models import AuditEntry
from executions.loop.clocks import database_now
from operations.audit_log.chains import add_chain_options, all_chains, chosen_chain, names_of
from shared.commands import FAILED, Error, shown, table, wrong_use
from shared.exceptions import InvalidInput


def add_verify_options(parser: CommandParser) -> None:
    """Add the options of ``verify``."""
    add_chain_options(parser)
    parser.add_argument(
        "--heads",
        type=Path,
        metavar="PATH",
        help="a copy of the file or directory of heads; AUDIT_HEADS_DIR unless given",
    )
    parser.add_argument(
        "--export", type=Path, metavar="FILE", help="verify JSON lines of `audit export`"
    )


def verify_audit(command: Any, options: Mapping[str, Any]) -> None:
    """Verify chains and print the result of each; exit code 1 where anything does not verify."""
    kept = _heads(options)
    names: Mapping[UUID, str]
    if options["export"] is not None:
        # Without asking the database.
        chains, guards, names = [_verify_export(options["export"], kept)], [], {}
    else:
        chains = [examine(chain, kept.heads.get(chain, ())) for chain in _chains(options, kept)]
        guards, names = missing_guards(), names_of([one.tenant_id for one in chains])
    broken = [one for one in chains if one.fault]
    document = {
        "verified": not (broken or guards or kept.broken),
        "chains": [_chain(one, names, kept) for one in chains],
        "guards_missing": guards,
        "heads": {"lines": kept.lines, "broken": kept.broken},
    }
    command.emit(options, document, _lines(document))
    if not kept.lines:
        command.note("No heads: a chain that lost its last entries looks whole.")
    if not document["verified"]:
        command.leave(FAILED)


def _chains(options: Mapping[str, Any], kept: Kept) -> list[UUID]:
    if options["tenant"] or options["installation"]:
        return [chosen_chain(options)]
    # A chain that is gone as a whole has left its head.
    return sorted({*all_chains(), *kept.heads})


def _heads(options: Mapping[str, Any]) -> Kept:
    try:
        kept = read_heads(options["heads"])
        if options["heads"] is not None and not kept.lines:
            raise Error(f"{options['heads']}: there are no heads", returncode=FAILED)
        return kept
    except OSError as error:
        raise Error(f"{options['heads'] or directory()}: {error.strerror}", returncode=1) from error


def _verify_export(path: Path, kept: Kept) -> Verdict:
    try:
        with path.open("rb") as file:
            documents = (read_document(orjson.loads(line)) for line in file if line.strip())
            first = next(documents, None)
            if first is None:
                raise wrong_use("--export", "the file has no entry")
            entry, before = first
            chain = entry.tenant_id
            rest = _of_chain(chain, documents)
            heads = _beside(kept, chain, before)
            return examine_entries(chain, _with_first(entry, rest), before, heads, sealed=True)
    except OSError as error:
        raise Error(f"{path}: {error.strerror}", returncode=FAILED) from error
    except (Unreadable, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise wrong_use("--export", str(error)) from error


def _with_first(first: AuditEntry, rest: Iterator[AuditEntry]) -> Iterator[AuditEntry]:
    yield first
    yield from rest


def _of_chain(chain: UUID, documents: Iterator[tuple[AuditEntry, Head]]) -> Iterator[AuditEntry]:
    for entry, _ in documents:
        if entry.tenant_id != chain:
            raise Unreadable("The file has entries of several chains.")
        yield entry


def _beside(kept: Kept, chain: UUID, before: Head) -> list[Head]:
    return [head for head in kept.heads.get(chain, ()) if head.sequence > before.sequence]


def _chain(one: Verdict, names: Mapping[UUID, str], kept: Kept) -> dict[str, Any]:
    return {
        "tenant_id": str(one.tenant_id),
        "tenant": names.get(one.tenant_id),
        "first": one.first,
        "entries": one.count,
        "plain": one.plain,
        "heads": len(kept.heads.get(one.tenant_id, ())),
        "fault": one.fault,
        "meaning": MEANINGS[one.fault] if one.fault else None,
        "breaks_at": one.breaks_at,
    }


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            shown(one["tenant"] or one["tenant_id"]),
            f"{one['first']}-{one['first'] + one['entries'] - 1}" if one["entries"] else "none",
            one["plain"],
            one["heads"],
            f"BREAK at {one['breaks_at']}: {one['meaning']}" if one["fault"] else "verified",
        )
        for one in document["chains"]
    ]
    yield from table(("chain", "entries", "without key", "heads", "result"), rows)
    for name in document["guards_missing"]:
        yield f"BREAK: the trigger {name} is missing or switched off"
    for line in document["heads"]["broken"]:
        yield f"BREAK: the line {shown(line)} of the heads is not authentic"


def keep_heads(command: Any, options: Mapping[str, Any]) -> None:
    """Write the heads of chains that have moved; exit code 1 where a chain went back."""
    try:
        written = write_heads(database_now())
    except OSError as error:
        raise Error(
            f"{error.filename or directory()}: {error.strerror}", returncode=FAILED
        ) from error
    document = _written(written)
    lines = [f"{written.moved} of {written.chains} chains have moved: {written.path}"]
    if written.sealed:
        lines.append(f"{written.sealed} chains of an older version are sealed")
    lines += [f"BREAK: the chain {one} is behind its head" for one in written.gone_back]
    command.emit(options, document, lines)
    if written.gone_back:
        command.leave(FAILED)


def _written(written: Written) -> dict[str, Any]:
    return {
        "chains": written.chains,
        "moved": written.moved,
        "sealed": written.sealed,
        "file": str(written.path),
        "gone_back": [str(one) for one in written.gone_back],
    }
