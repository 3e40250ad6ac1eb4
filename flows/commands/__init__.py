"""What each command does; the command line only names them."""
