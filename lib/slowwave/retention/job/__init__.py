"""The job ``retain``: sessions and rules become a plan; what goes is archived, then thrown away, then freed."""
