"""The crash storm: kills processes of a running installation under load, and judges it.

order     the options, the moments and kinds of strikes    pure
ground    the installation that runs here, its processes
scratch   the tenant, its key and its ledger, made and removed
weather   the strikes of one storm, and the refusals meanwhile
takeover  the takeover time of each strike                 pure
findings  the figures, and the broken promises             pure
storm     a whole storm
"""
