"""``manage.py top``: the installation on a terminal, read again every few seconds."""
