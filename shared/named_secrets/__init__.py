"""Named secrets of a tenant, as every process knows them; no database.

``references`` finds and fills ``{{ secrets.name }}``, ``bindings`` judges where a secret may go,
``sealed`` is the form in which one is stored and travels to a worker, ``opened`` holds the ones
that an attempt uses.
"""
