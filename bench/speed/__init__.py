"""Our numbers against those that a user would pick: CPU seconds, memory, and whether they agree."""
