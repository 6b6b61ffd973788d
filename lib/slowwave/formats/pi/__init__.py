"""pi, versions 1 to 3."""
