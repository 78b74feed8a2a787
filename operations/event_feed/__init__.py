"""Commands about the event feed."""
