"""Sign-in by an OpenID provider: what it publishes, the flow of one sign-in, and its result."""
