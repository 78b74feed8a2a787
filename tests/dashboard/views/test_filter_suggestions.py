from __future__ import annotations

from tests.dashboard.asking import HOSTILE
from tests.factories import make_task, once


def test_options_are_whole_filters_of_the_visitors_own_tenant(browser, alpha, beta):
    make_task(alpha, once(name="Night <b>"))
    make_task(beta, once(name="Night of beta"))
    client = browser(alpha, role="viewer")

    answer = client.get("/filter-suggestions?list=tasks&filter=-label:x+task:night")

    assert answer.text.count("<option") == 1
    assert "-label:x task:&quot;Night &lt;b&gt;&quot;" in answer.text
    assert client.get("/filter-suggestions", {"filter": HOSTILE}).status_code == 200
    assert client.get("/filter-suggestions?list=nothing").status_code == 400
