"""Calendar feeds over the API."""
