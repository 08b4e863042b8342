"""What is kept: events, the store, resume, export."""
