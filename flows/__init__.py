"""When: flows, triggers and the command line."""
