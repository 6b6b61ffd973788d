"""What Clawdbot and OpenClaw keep beside their transcripts: ``sessions.json``, session keys, reset rules, locks."""
