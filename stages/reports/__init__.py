"""What the stages write: the types of their reports and the places of their artifacts."""
