"""Running a job: its story, its parameters, its portions for a scheduler, and what a run amounts to."""

# The jobs that a person or a scheduler can start.
JOBS = ("nightly", "extract", "consolidate", "compact", "retain", "erase", "backfill")
