"""Archives: sessions that left their clients' folders, packed, verified, and still there to be read."""
