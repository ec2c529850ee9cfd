"""The solver's part of the command line, as it is typed."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from service.cli import main
from service.rules import start
from service.solver import catalogue

BUDGET = ("--budget", "50000")


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def told(*words: str) -> Any:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_line_from_the_deal_and_one_from_a_position() -> None:
    whole = told("solve", "royal-mullein", "1", "--json", *BUDGET)
    assert whole["verdict"] == "solved"
    assert whole["states"] > 0
    begun = whole["moves"][:50]
    rest = told("solve", "royal-mullein", "1", "--from", " ".join(begun), "--json", *BUDGET)
    position = start("royal-mullein", "1")
    for move in (*begun, *rest["moves"]):
        position = position.apply(move).position
    assert rest["verdict"] == "solved"
    assert position.solved


def test_in_words() -> None:
    result = run("solve", "royal-mullein", "1", *BUDGET)
    first, line = result.stdout.splitlines()
    assert first.startswith(f"solved, {len(line.split())} moves, ")
    assert run("solve", "kings-way", "1", "--budget", "1").stdout == (
        "unknown, 0 moves, 1 states looked at\n"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no-such-game", "1"), "the games are kings-way, royal-mullein"),
        (("kings-way", "no seed"), "seed"),
        (("kings-way", "1", "--from", "turn c9-w turn"), "ply 2"),
        (("kings-way", "1", "--from", "resign"), "ply 1"),
        (("kings-way", "1", "--budget", "0"), "0 is not in the range"),
        (("kings-way", "1", "--budget", "many"), "'many' is not a valid integer"),
    ],
)
def test_what_cannot_be_solved_says_why(words: tuple[str, ...], says: str) -> None:
    result = run("solve", *words)
    assert result.exit_code != 0
    assert isinstance(result.exception, SystemExit)
    assert says in result.output


def test_a_survey_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    asked = ("survey", "royal-mullein", *BUDGET, "--rows", str(rows))
    assert told(*asked, "--deals", "3")["deals"] == 3
    kept = rows.read_bytes().splitlines(keepends=True)
    # As a killed process leaves it: two deals are known, the third only in part.
    rows.write_bytes(b"".join((*kept[:2], kept[2][:20])))
    seen = told(*asked, "--deals", "4")
    lines = rows.read_bytes().splitlines(keepends=True)
    assert lines[:2] == kept[:2]
    assert sorted(json.loads(line)["seed"] for line in lines) == [
        f"survey-{n}" for n in range(1, 5)
    ]
    assert seen == told("survey", "royal-mullein", *BUDGET, "--deals", "4")
    # Another game's rows are not this one's.
    assert told(
        "survey", "kings-way", "--budget", "1", "--rows", str(rows), "--deals", "1"
    ) == told("survey", "kings-way", "--budget", "1", "--deals", "1")


@pytest.mark.parametrize(
    "text", ["a list\nof things\n", '{"game": "kings-way"}\ncut', "\x00\n", "milk"]
)
def test_a_file_of_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "shopping"
    path.write_text(text)
    result = run("survey", "kings-way", "--deals", "1", "--rows", str(path))
    assert (result.exit_code, result.output) == (
        1,
        f"Error: {path} holds something else than a survey\n",
    )
    assert path.read_text() == text


def test_a_catalogue_is_written(tmp_path: Path) -> None:
    path = tmp_path / "deals.jsonl"
    result = run("catalogue", "royal-mullein", "--deals", "2", "--output", str(path), *BUDGET)
    assert result.exit_code == 0, result.output
    head, deals = catalogue.read(path.read_bytes())
    assert (head.game, head.budget) == ("royal-mullein", 50_000)
    assert deals == dict(
        catalogue.certified(("royal-mullein", seed, 50_000)) for seed in ("1", "2")
    )
