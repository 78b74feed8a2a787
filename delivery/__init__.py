"""The webhook client: one attempt, from address to outcome; knows no database."""
