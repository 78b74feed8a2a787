"""Punctual and its peers in the same run, against the same receiver, on one machine."""
