"""Alerts that time decides and no event: what did not run, runs too long, or has no worker.

``stage`` is called by every recorder, so that the checks need no scheduler, and ``burning``, which
judges error budgets. ``unstarted`` reads what is overdue, ``judging`` decides by the rules,
``installation`` looks at the installation, and ``conditions`` opens, extends and ends alerts.
"""
