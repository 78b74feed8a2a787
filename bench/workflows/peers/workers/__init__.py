"""The programs that the peers written in Python run: each is started as a process of its own."""
