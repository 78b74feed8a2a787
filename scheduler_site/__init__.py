"""The project: settings, routing, process entry points, embedded servers (the top layer)."""
