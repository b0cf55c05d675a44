"""The command line, and the composition root of all parts."""
