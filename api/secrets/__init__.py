"""``/v1/secrets``: named secrets, written and never read back."""
