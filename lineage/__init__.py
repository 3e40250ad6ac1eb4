"""Whether: DVC as a library, runs and provenance."""
