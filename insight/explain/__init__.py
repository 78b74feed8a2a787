"""Why an instant ran, did not run or waits: an ordered checklist with evidence (A15).

``explanation`` is the door; it reads and never writes. The checks stand in ``checks`` in their
order, each a function of a ``Situation``, which reads a fact when it is first asked for.
"""
