"""The language model behind one protocol: what is asked, what comes back, what it costs, and how it fails."""
