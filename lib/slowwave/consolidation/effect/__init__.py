"""Whether memories help: what they demand of an agent, what sessions were told, and what became of it there."""
