"""The core loop, in order.

===========  ==================  =========  ==================================================
stage        file                runs in    guarantees
===========  ==================  =========  ==================================================
materialize  materialize.py      scheduler  every expected instant is in the ledger once
dispatch     dispatch.py         scheduler  due work is handed out under a new token and lease
run          run.py              worker     starts at its millisecond, never early, once
complete     complete.py         recorder   one outcome per attempt; stale tokens change nothing
rescue       rescue.py           scheduler  what is lost comes back
===========  ==================  =========  ==================================================

``partitions.py`` says which tasks a scheduler may touch, ``guard.py`` what may start,
``transitions.py`` is every write of a state, ``ledger.py`` bounds ids and keeps day tables.
``planning.py`` plans a task's instants for materialize, ``bands.py`` shares room between priorities
and ``messages.py`` builds what travels for dispatch, ``held.py`` is what run holds and
``start_order.py`` in which order it starts;
``recording.py`` writes outcomes for complete, ``silence.py`` and ``stream.py`` say who is lost and
what is recorded for rescue, ``neglected.py`` hands prepared instants that an outage made late to
the misfire policy. ``gate.py`` holds back what an overlap policy or a limit does not allow yet, as
``overlap.py`` decides. ``withdrawal.py`` and ``replanning.py`` take work back for an edit,
``resume.py`` ends pauses, ``control.py`` aborts what runs, ``housekeeping.py`` keeps the days,
``retention.py`` lets old ones go, ``minute_stats.py`` counts what ended.
"""
