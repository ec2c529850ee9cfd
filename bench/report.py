"""Tables and figures as Markdown."""

import statistics
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, aligned for whoever reads it as text; figures to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    columns = list(zip(head, *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(cell[:1].isdigit() or cell[:1] in "-–" for cell in col[1:]) for col in columns]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join(
        "-" * (width + 1) + (":" if to_right else "-")
        for width, to_right in zip(widths, right, strict=True)
    )
    return "\n".join([line(head), f"|{rule}|", *map(line, cells)])


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def count(number: float) -> str:
    return f"{number:,.0f}"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


median = statistics.median
