"""The archive: days of the ledger in compressed files, written before their tables are dropped.

``rows.py`` reads rows as PostgreSQL writes them, ``parts.py`` keeps the files and their manifests,
``writing.py`` fills them from a table and ``reading.py`` returns the rows of a day.
``executions.ledger.retention`` and ``executions.ledger.archiving`` call these. Only ``writing.py``
knows a database, so that an archive can be read without one.
"""
