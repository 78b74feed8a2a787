"""The REST API: a folder for each resource, and what they share in ``protocol``."""
