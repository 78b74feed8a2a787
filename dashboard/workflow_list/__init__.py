"""The list editor of a workflow: its definition as cards, and each change applied to it."""
