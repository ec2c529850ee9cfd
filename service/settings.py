"""What an operator may set, from the environment and the command line."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations are milliseconds. See the README for what each is for."""

    database_url: str | None = None
    redis_url: str | None = None
    data_dir: Path = Path("data")
    log_level: str = "info"
    public_url: str | None = None
    countdown_ms: int = 5_000
    redis_prefix: str = "samedeal:"
    rate_limits: bool = True
    pool: int = 0
    """Certified deals to keep ready for each game; 0: none, and no certificates either."""


def from_environment(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment gives. Raises `ValueError` with the variable's name."""
    set_ = {key: value for key, value in environ.items() if value != ""}
    countdown = set_.get("SAMEDEAL_COUNTDOWN_MS", "5000")
    if not countdown.isascii() or not countdown.isdigit() or int(countdown) > 600_000:
        raise ValueError("SAMEDEAL_COUNTDOWN_MS must be 0 to 600000 milliseconds")
    level = set_.get("SAMEDEAL_LOG_LEVEL", "info").lower()
    if level not in ("debug", "info", "warning", "error", "critical"):
        raise ValueError("SAMEDEAL_LOG_LEVEL must be debug, info, warning, error or critical")
    limits = set_.get("SAMEDEAL_RATE_LIMITS", "on").lower()
    if limits not in ("on", "off"):
        raise ValueError("SAMEDEAL_RATE_LIMITS must be on or off")
    pool = set_.get("SAMEDEAL_POOL", "50")
    if not pool.isascii() or not pool.isdigit() or int(pool) > 100_000:
        raise ValueError("SAMEDEAL_POOL must be 0 to 100000 deals")
    return Settings(
        database_url=set_.get("SAMEDEAL_DATABASE_URL"),
        redis_url=set_.get("SAMEDEAL_REDIS_URL"),
        data_dir=Path(set_.get("SAMEDEAL_DATA_DIR", "data")),
        log_level=level,
        public_url=set_.get("SAMEDEAL_PUBLIC_URL"),
        countdown_ms=int(countdown),
        redis_prefix=set_.get("SAMEDEAL_REDIS_PREFIX", "samedeal:"),
        rate_limits=limits == "on",
        pool=int(pool),
    )
