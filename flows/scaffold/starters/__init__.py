"""Code that a case begins with where its owner gives none: it works, and is theirs to change."""
