"""``/v1/views``: saved views of the console's lists."""
