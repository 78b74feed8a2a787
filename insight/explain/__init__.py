"""Why an instant ran, did not run or waits: an ordered checklist with evidence.

``explanation`` is the entry; it reads and never writes. ``checks`` lists the checks in their
order. Each is a function of a ``Situation``, which reads a fact at its first use.
"""
