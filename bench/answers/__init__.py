"""Answers of the API, recorded byte by byte: what a change of the storage must not change."""
