"""What a miner's certainty is worth: features of a fact, and how often facts like it were right."""
