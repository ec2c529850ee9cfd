"""Ids: UUIDv7 in the database, 22 characters of base64url outside. One spelling each."""

import binascii
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode

_last = (0, 0)


def new_id(now: int) -> str:
    """A fresh id whose order follows `now` (epoch milliseconds).

    Those of one process and millisecond follow one another: a counter stands before what is random.
    """
    global _last
    count = _last[1] + 1 if _last[0] == now else os.urandom(1)[0]
    _last = (now, count)
    tail = bytearray(os.urandom(10))
    tail[:2] = (0x7000 | count & 0x0FFF).to_bytes(2, "big")
    tail[2] = 0x80 | tail[2] & 0x3F
    return id_text(now.to_bytes(6, "big") + tail)


def id_text(raw: bytes) -> str:
    """The text of 16 bytes."""
    return urlsafe_b64encode(raw).decode()[:22]


def id_bytes(text: str) -> bytes:
    """The 16 bytes of an id's text. Raises `ValueError` for anything that `id_text` never made."""
    if len(text) != 22 or not text.isascii():
        raise ValueError("not an id")
    try:
        raw = urlsafe_b64decode(text + "==")
    except binascii.Error:
        raise ValueError("not an id") from None
    if len(raw) != 16 or id_text(raw) != text:
        raise ValueError("not an id")
    return raw


def is_id(text: str) -> bool:
    """Whether the text could name something.

    >>> is_id("AZrQ2k3vcAAAAAAAAAAAAA"), is_id("AZrQ2k3vcAAAAAAAAAAAAB"), is_id("1; drop")
    (True, False, False)
    """
    try:
        id_bytes(text)
    except ValueError:
        return False
    return True
