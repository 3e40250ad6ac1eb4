"""How fast, how large: each module here is a benchmark, measured against its targets."""
