"""The dialect ``openclaw``: pi's tree of entries, in JSON lines (Clawdbot) or in a database (OpenClaw)."""
