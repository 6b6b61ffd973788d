"""Shell lines: taken apart, and what they proved."""
