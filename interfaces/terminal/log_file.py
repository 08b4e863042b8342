"""The log: a JSON object a line, without secrets. Nothing of it reaches the screen."""

from __future__ import annotations

import json
import logging
import logging.handlers
from datetime import datetime, timezone
from pathlib import Path

from sessions.redaction import Redactor
from utils.errors import ConfigurationError

DEFAULT_NAME = "roundtable.log"
"""In the data directory: warnings, errors and what was not expected."""
MAX_BYTES = 1_000_000
"""Of the default log; the one before it is kept."""


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object, every secret replaced by a mark.

    `event`, where a record has one, holds the fields of an event that are no longer than a line.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": record.getMessage(),
            "process": record.process,
        }
        event = getattr(record, "event", None)
        if event is not None:
            entry["event"] = event
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(self._redactor.clean_data(entry))


def start_log(data_dir: Path, wanted: Path | None, redactor: Redactor) -> Path:
    """Send all logging to a file and nowhere else. Returns the file; it is made with the first entry.

    `wanted` gets everything from `info` up, the default file only warnings and worse. Raises `ConfigurationError`.
    """
    path = wanted or data_dir / DEFAULT_NAME
    handler: logging.Handler
    if wanted is None:
        handler = logging.handlers.RotatingFileHandler(
            path, maxBytes=MAX_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
    else:
        try:
            handler = logging.FileHandler(path, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                f"The log file {path} cannot be written: {(error.strerror or str(error)).lower()}.",
                "Name another with --log-file FILE.",
            ) from error
    handler.setFormatter(JsonFormatter(redactor))
    logging.raiseExceptions = False  # a full disk must not fill the screen as well
    logging.basicConfig(handlers=[handler], level=logging.INFO if wanted else logging.WARNING, force=True)
    # AutoGen logs every message and request with the whole conversation in it, again and again.
    for name in ("autogen_core", "autogen_agentchat"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return path
