"""A model behind a program: the person's own agent, or anything that reads a question and prints an answer."""
