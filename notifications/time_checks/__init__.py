"""Alerts that time decides and no event: what did not run, runs too long, or has no worker.

``stage`` is called by every recorder, so that the checks need no scheduler. ``unstarted`` and
``running`` read what is overdue, ``judging`` decides by the rules, and ``conditions`` opens,
extends and ends alerts. ``late_starts`` counts late starts by the outbox.
"""
