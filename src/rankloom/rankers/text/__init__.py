"""Text rankers."""
