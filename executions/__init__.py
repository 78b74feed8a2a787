"""The ledger and its five stages.

===========  ====================  =========  ==================================================
stage        file                  runs in    guarantees
===========  ====================  =========  ==================================================
materialize  materialize/stage.py  scheduler  every expected instant is in the ledger once
dispatch     dispatch/stage.py     scheduler  due work is handed out under a new token and lease
run          worker/runner.py      worker     starts at its millisecond, never early, once
complete     complete/stage.py     recorder   one outcome per attempt; stale tokens change nothing
rescue       rescue/stage.py       scheduler  lost work is taken back
===========  ====================  =========  ==================================================

``gate/`` is between the first two and delays due work that an overlap policy or a limit does not
allow yet. ``transitions.py`` has every write of a state, ``ownership/`` decides which partitions a
scheduler may touch, ``ledger/`` keeps the days of the history, and the stages share ``loop/``.
``changes/`` takes work back for an edit, a pause or a cancel. ``triggering/``, ``external/``,
``dead_letters/``, ``destinations/`` and ``bulk/`` serve requests of people and programs.
"""
