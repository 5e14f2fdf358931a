"""Methods that build graphs of neighbors."""
