"""The REST API: a folder for each resource, and the shared parts in ``protocol``."""
