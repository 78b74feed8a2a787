"""Named secrets of a tenant: written, read for their use, and who uses them.

``services`` writes, ``uses`` keeps which tasks name a secret, ``reading`` reads for validation and
for attempts, ``presentation`` shows everything but the value.
"""
