"""The crash storm: processes of a running installation are killed under load, and it is judged.

order     what is asked for, and when what is struck      pure
ground    the installation that runs here, its processes
scratch   the tenant, its key and its ledger, made and removed
weather   the strikes of one storm, and what was refused meanwhile
takeover  how long after each strike work went on          pure
findings  what came of it, and which promises were broken  pure
storm     the whole of it
"""
