"""Their code: runs preprocessing and models of others; stdlib and numpy only."""
