"""Where the lines of memory files that slowwave did not write came from."""
