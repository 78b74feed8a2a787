from __future__ import annotations

from dataclasses import replace

from bench.alert_books import AlertRow, Books, MessageRow, faults_of
from bench.mailbox import Mail

MESSAGE = MessageRow("a", 1, "SENT", "<1@x>", 3)
MAIL = Mail(1, "ada@example.test", "<1@x>", "[failed] 3 failures: nightly (acme): HTTP 503")
GOOD = Books(
    letters={"http_status:503": 3},
    alerts=[AlertRow("a", "t", "http_status:503", 3, 1)],
    messages=[MESSAGE],
)


def test_each_failure_counted_and_told_once_is_no_fault():
    assert GOOD.settled
    assert faults_of(GOOD, [MAIL], 3, all_told=True) == []


def test_an_execution_that_did_not_fail_is_a_fault():
    assert len(faults_of(GOOD, [MAIL], 4, all_told=True)) == 1


def test_causes_are_compared_one_by_one():
    # The sum agrees, but one cause lost what the other counted twice.
    books = replace(
        GOOD,
        letters={"http_status:500": 1, "http_status:503": 3},
        alerts=[AlertRow("a", "t", "http_status:503", 4, 1)],
        messages=[replace(MESSAGE, count_shown=4)],
    )

    assert not books.settled
    (fault,) = faults_of(books, [MAIL], 4, all_told=True)
    assert fault.startswith("alerts count")


def test_a_message_that_arrives_twice_is_a_fault():
    assert faults_of(GOOD, [MAIL, MAIL], 3, all_told=True) == ["<1@x> arrived 2 times"]


def test_a_sent_message_that_did_not_arrive_is_a_fault():
    assert faults_of(GOOD, [], 3, all_told=True) == ["<1@x> was sent and did not arrive"]


def test_a_message_that_nobody_sent_is_a_fault():
    stranger = replace(MAIL, message_id="<2@x>")

    faults = faults_of(GOOD, [MAIL, stranger], 3, all_told=True)

    assert faults == ["<2@x> arrived and is not recorded as sent"]


def test_a_message_left_waiting_is_a_fault_and_not_settled():
    books = replace(GOOD, messages=[replace(MESSAGE, status="PENDING", count_shown=0)])

    assert not books.settled
    assert faults_of(books, [], 3, all_told=False) == [
        "message of alert a, notice 1: PENDING",
        "alert a: 0 of 3 failures were told",
    ]


def test_what_waits_for_the_digest_is_a_fault_only_after_it():
    books = replace(GOOD, messages=[replace(MESSAGE, count_shown=1)])

    assert faults_of(books, [MAIL], 3, all_told=False) == []
    assert faults_of(books, [MAIL], 3, all_told=True) == ["alert a: 1 of 3 failures were told"]
