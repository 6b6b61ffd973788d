"""Standing beside a scheduler: which Prefect server, which deployments, and whether this installation is sound."""
