"""The worker process: runs webhooks, handlers and commands; knows no database."""
