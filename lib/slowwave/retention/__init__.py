"""What is taken out of transcripts for good."""
