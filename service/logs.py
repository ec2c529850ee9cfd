"""Structured logs, one JSON object a line, with a request id and without secrets.

Nothing that a client sent and nothing that is stored is logged: no token, no seed, no card.
Exceptions are told by their type and where they arose, for their texts may quote either.
"""

import logging
import sys
import traceback
from types import TracebackType
from typing import Any

import structlog


def set_up(level: str) -> None:
    """Log to standard error from that level on."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    logging.getLogger("uvicorn.access").disabled = True
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def fault(error: BaseException) -> dict[str, Any]:
    """What may be logged of an exception: its type, its causes' types, and where."""
    causes: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < 5:
        causes.append(type(cause).__name__)
        cause = cause.__cause__
    return {"error": " from ".join(causes), "where": _where(error.__traceback__)}


def _where(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-8:]
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
