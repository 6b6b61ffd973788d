"""The report of the nights: sections of a sentence, a chart and a table; as Markdown, and as one HTML file."""
