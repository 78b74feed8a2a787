"""``/v1/events``: what happened, for readers that follow it."""
