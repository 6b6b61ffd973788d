"""The guards against text that is not a person's own, each by one idea: letters, wording, quotation marks, speech, echo."""
