"""Methods that fuse the lists of one query at a time."""
