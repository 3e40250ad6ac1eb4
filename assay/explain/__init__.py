"""Name the transform that turns one array into another."""
