"""Running a job: its story, its parameters, its portions for a scheduler, and what a run amounts to."""
