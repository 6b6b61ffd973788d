"""Questions at a provider's batch price: asked one night, answered within a day, read the next night."""
