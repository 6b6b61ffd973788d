"""Search from inside an agent: memories and sessions of its project over the Model Context Protocol."""
