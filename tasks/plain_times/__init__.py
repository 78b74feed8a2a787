"""Times in plain English words: ``monday 9:00``, ``in 2 hours``, ``every weekday at 9``.

A small rule grammar without a model of language: what it does not know it refuses, with the
nearest examples. Commands, the console's forms and the preview call it; pure, the caller brings
the time and the zone. `moments` reads one instant, `recurrences` a schedule, `reading` either.
"""
