"""The browser console: pages and live view; no models and no writes of its own."""
