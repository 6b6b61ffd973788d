"""Loggers whose records hold no secrets: errors and tracebacks quote what they stumbled over."""

import logging

from slowwave.secrets.redactor import NAMELESS


class RedactingFilter(logging.Filter):
    """Takes secrets out of the message and the traceback of every record."""

    _format = logging.Formatter().formatException

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean the record and let it pass."""
        message = record.getMessage()
        clean = NAMELESS(message)
        if clean != message:
            record.msg, record.args = clean, None
        if record.exc_info and record.exc_info[0] is not None:
            # handlers show the text in the place of the traceback when there is one
            record.exc_text = NAMELESS(self._format(record.exc_info))
            record.exc_info = None
        return True


def logger_of(name: str) -> logging.Logger:
    """Return the logger of a module of slowwave."""
    logger = logging.getLogger(name)
    if not any(isinstance(one, RedactingFilter) for one in logger.filters):
        logger.addFilter(RedactingFilter())
    return logger
