"""Finding sessions on disk, the catalogue, live sessions, and every change to a session."""
