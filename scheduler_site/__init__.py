"""The project: settings, routing, the web and Celery applications (the top layer)."""
