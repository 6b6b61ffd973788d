"""Secrets in text: what they look like, the forms they hide in, and the marks that stand in their place."""
