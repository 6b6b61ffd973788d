"""Memory where agents read it: as a section of the files that each client puts into its prompt."""
