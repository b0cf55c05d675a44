"""`brownout up`: everything on this machine, for a first look."""
