"""Image rankers."""
