"""Every number of the dead letters is that of the tables, by cause and one by one."""

from __future__ import annotations

from tests.recount.checking import judge, shown


def test_every_number_of_the_dead_letters_equals_its_recount(each):
    for tenant, browser in each:
        judge(*shown(browser, "/dead-letters", tenant))
        judge(*shown(browser, "/dead-letters?view=letters", tenant))
