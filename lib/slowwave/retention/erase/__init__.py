"""An erasure: secrets, subjects and whole sessions are found wherever they lie, and taken out for good."""
