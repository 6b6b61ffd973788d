"""Shell lines: taken apart (``lexer``, ``grammar``), and what each command of one proved (``commands``)."""
