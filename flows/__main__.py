"""`python -m flows` is `assay`, for a clone that has no environment of its own."""

from flows.cli import main

main()
