"""The definition that these tests write, and a secret that no page may show."""

from __future__ import annotations

TEXT = """
name: Flow
steps:
  - key: a
    target: {url: "https://api.example.com/a"}
  - key: b
    depends_on: [a]
    kind: approval
"""
SECRET = "Bearer s3cr3t-of-the-receiver"
