"""What for: one short file a stage."""
