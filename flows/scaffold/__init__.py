"""From somebody's model and data, as they are, to a case: read, converted, described, written."""
