"""Reads what a person pastes into the form for new tasks: a crontab line or a curl command.

The form fills its fields from the definition and shows the notes; nothing is stored here.
"""

from __future__ import annotations

from tasks.importers.crontab import Entry, parse_crontab
from tasks.importers.curl import Pasted, is_curl, parse_curl, refusal, without_prompt


def parse_pasted(text: str, *, timezone: str = "UTC") -> Pasted:
    """Return the definition of a pasted curl command or crontab line; raise InvalidInput."""
    if not text.strip():
        raise refusal("Paste a crontab line or a curl command.")
    if is_curl(without_prompt(text)):
        return parse_curl(text)
    return parse_crontab_line(text, timezone=timezone)


def parse_crontab_line(text: str, *, timezone: str = "UTC") -> Pasted:
    """Return the definition of one crontab line, with its target where it calls curl.

    Variables may precede the line. A user column is recognised where curl follows it.
    """
    entry = _entry(text, system=False, timezone=timezone)
    _, _, after_user = entry.command.partition(" ")
    if not is_curl(entry.command) and is_curl(after_user.strip()):
        entry = _entry(text, system=True, timezone=timezone)
    notes = list(entry.notes)
    if entry.environment:
        notes.append("Variables of the crontab are left out.")
    if not is_curl(entry.command):
        notes.append(
            f"Give the URL that does {_cut(entry.command)!r}, or choose one of the commands that "
            "this deployment runs."
        )
        return Pasted({"schedule": entry.schedule}, tuple(notes))
    called = parse_curl(entry.command)
    definition = {**called.definition, "schedule": entry.schedule}
    return Pasted(definition, (*notes, *called.notes))


def _entry(text: str, *, system: bool, timezone: str) -> Entry:
    jobs = parse_crontab(f"{text.strip()}\n", system=system, timezone=timezone)
    if len(jobs) != 1:
        raise refusal(
            "Paste one crontab line; a whole crontab is imported with the command 'tasks'."
            if jobs
            else "There is no schedule in this text; a crontab line begins with five fields."
        )
    (job,) = jobs
    if not isinstance(job, Entry):
        raise refusal(job.reason)
    return job


def _cut(command: str) -> str:
    return command if len(command) <= 60 else f"{command[:59]}…"
