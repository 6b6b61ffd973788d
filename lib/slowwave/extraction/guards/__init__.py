"""The guards against text that is not a person's own: letters, wording, quotation marks, speech and echo."""
