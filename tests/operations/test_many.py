from __future__ import annotations

import io

import pytest

from operations import many
from shared.commands import PunctualCommand
from shared.exceptions import Conflict, NotFound, Unavailable
from tasks.models import Task
from tests.factories import make_task
from tests.support.command_documents import read_document
from tests.support.recounting import recounts


def _command() -> PunctualCommand:
    return PunctualCommand(stdout=io.StringIO(), stderr=io.StringIO())


def _find(rows: dict):
    def find(word):
        if word not in rows:
            raise NotFound(f"There is no task {word!r}.")
        return rows[word]

    return find


@pytest.fixture
def rows(alpha) -> dict[str, Task]:
    return {word: make_task(alpha) for word in ("a", "b", "c")}


def _rename(task: Task) -> dict:
    Task.objects.filter(pk=task.pk).update(name="changed")
    if task.name == "refused":
        raise Conflict("It has ended.")
    return {"name": "changed", "status": "PAUSED"}


@pytest.mark.django_db(transaction=True)
def test_one_that_is_refused_keeps_none_of_the_others_back():
    from tests.factories import daily, make_tenant

    tenant = make_tenant("Alpha")
    first, second = make_task(tenant), make_task(tenant, daily(name="refused"))
    outcomes = many.resolve(["a", "b"], _find({"a": first, "b": second}))

    many.perform(_command(), outcomes, "changing", _rename)

    assert [outcome.error is None for outcome in outcomes] == [True, False]
    assert Task.objects.get(pk=first.pk).name == "changed"
    assert Task.objects.get(pk=second.pk).name == "refused"


def test_a_row_that_is_named_twice_is_changed_once(rows):
    assert len(many.resolve(["a", "b", "a"], _find(rows))) == 2


def test_one_alone_fails_as_a_single_change_does(rows):
    with pytest.raises(NotFound):
        many.resolve(["nowhere"], _find(rows))
    outcomes = many.resolve(["a"], _find(rows))
    with pytest.raises(Conflict):
        many.perform(_command(), outcomes, "changing", _refuse)


def _refuse(task: Task) -> dict:
    raise Conflict("It has ended.")


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ((None, None), None),
        ((None, NotFound()), 6),
        ((NotFound(), NotFound()), 3),
        ((Conflict(), Conflict()), 4),
        ((Conflict(), Unavailable()), 1),
    ],
    ids=["all done", "in part", "none found", "none allowed", "different"],
)
def test_the_exit_code_says_how_many_failed_and_how(errors, code):
    command = _command()
    outcomes = [many.Outcome(str(place), error=error) for place, error in enumerate(errors)]

    if code is None:
        many.conclude(command, outcomes)
        return
    with pytest.raises(SystemExit) as left:
        many.conclude(command, outcomes)
    assert left.value.code == code


@recounts("command.done")
def test_results_are_one_document_with_counts(rows):
    command = PunctualCommand(stdout=(out := io.StringIO()), stderr=(err := io.StringIO()))
    outcomes = many.resolve(["a", "nowhere"], _find(rows))
    outcomes[0].facts = {"name": "a", "status": "PAUSED"}

    with pytest.raises(SystemExit):
        many.report(command, {"json": True}, outcomes, "paused", lambda task: task.name)

    document = read_document("tasks-pause", out.getvalue())
    assert (document["done"], document["failed"]) == (1, 1)
    assert document["results"][1]["error"]["code"] == "not_found"
    assert err.getvalue() == "1 done, 1 failed\n"


def test_lines_say_what_was_done_and_why_not(rows):
    outcomes = many.resolve(["a", "nowhere"], _find(rows))

    lines = list(many.lines(outcomes, "paused", lambda task: task.name))

    assert lines[0].startswith(f"✔ paused  {str(rows['a'].id)[-12:]}  Daily report")
    assert lines[1] == "✘ nowhere  There is no task 'nowhere'."


def test_many_rows_show_their_progress(alpha):
    command = PunctualCommand(stdout=io.StringIO(), stderr=(err := io.StringIO()))
    outcomes = [many.Outcome(str(place), row=place) for place in range(20)]

    many.perform(command, outcomes, "changing", lambda row: {})

    assert err.getvalue().splitlines()[-1] == "changing 100 % (20 of 20)"
