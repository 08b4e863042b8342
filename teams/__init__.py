"""Who speaks when, and when to stop."""
