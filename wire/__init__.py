"""What travels between processes: messages, outcomes, heartbeats, and what decides about them."""
