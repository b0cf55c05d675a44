"""Commands that talk REST to a running server."""
