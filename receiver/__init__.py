"""The built-in test receiver: a program of its own, without Django."""
