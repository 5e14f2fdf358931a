"""The page over a collection: search it by item, by words or by picture, and see why an item came first."""
