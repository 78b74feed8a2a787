"""Commands: allow-listed programs that tasks run, without a shell and within limits."""
