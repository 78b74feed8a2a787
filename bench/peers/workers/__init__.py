"""The programs that peers written in Python run: each is started as a process of its own."""
