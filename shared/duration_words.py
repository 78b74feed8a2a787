"""Durations in few words, for labels and tables: ``4.2 ms``, ``1.25 s``, ``2 m 5 s``, ``10 d``.

Pages, pictures and commands use it, so that one duration reads the same everywhere. A negative
duration, which two clocks may cause, becomes 0.
"""

from __future__ import annotations

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_LONG = ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", _MINUTE, "m"), (_MINUTE, "m", 1, "s"))


def duration_text(milliseconds: float | None) -> str:
    """Return a duration in its two largest units; a dash where there is none."""
    if milliseconds is None:
        return "–"
    spent = max(0.0, milliseconds)
    if spent < 9.95:
        return f"{_plain(spent, 1)} ms"
    if spent < 999.5:
        return f"{spent:.0f} ms"
    seconds = spent / 1000
    if seconds < 59.95:
        return f"{_plain(seconds, 2 if seconds < 9.995 else 1)} s"
    return _long_text(round(seconds))


def _long_text(seconds: int) -> str:
    for size, unit, part, part_unit in _LONG:
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            parts = rest // part
            return f"{whole:,} {unit} {parts} {part_unit}" if parts else f"{whole:,} {unit}"
    return f"{seconds} s"


def _plain(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
