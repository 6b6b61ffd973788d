"""Prefect adapters, one noun a file: retries, time limits, artifacts and states around functions of the library."""
