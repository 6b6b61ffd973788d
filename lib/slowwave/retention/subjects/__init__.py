"""A subject, what it is called, and where it occurs: a person, a topic, a pattern."""
