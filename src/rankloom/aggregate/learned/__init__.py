"""Methods that learn from judged queries, and tuning."""
