"""The `samedeal` command."""

import asyncio
import os
import sys
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from service import settings as settings_
from service.cli_solver import catalogue_, solve, survey_
from service.contest.proof import BadProof, verify
from service.live.boards import BoardsAway, RedisBoards
from service.referee.board_keeper import rebuild_all
from service.rules import GAMES, IllegalMove, UnknownGame, commitment, shuffled, start
from service.rules.deal import BadSeed
from service.storage.database import Database, Unavailable, database_url
from service.storage.migrate import CannotMigrate, migrate


class Refused(click.ClickException):
    """What was asked for cannot be done; exit status 1."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="samedeal")
def main() -> None:
    """Races at patience: everybody gets the very same deal."""


for command in (solve, survey_, catalogue_):
    main.add_command(command)


def _settings(data_dir: Path | None = None) -> settings_.Settings:
    try:
        found = settings_.from_environment()
        if data_dir is not None:
            found = msgspec.structs.replace(found, data_dir=data_dir)
        database_url(found.database_url, found.data_dir)
    except ValueError as error:
        raise Refused(str(error)) from None
    return found


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64))
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False))
def serve(host: str, port: int, workers: int, data_dir: Path | None) -> None:
    """Run the service."""
    from service.server import serve as run  # the web server takes a while to import

    found = _settings(data_dir)
    if workers > 1 and found.redis_url is None:
        click.echo(
            "Several workers need a bus between them: without SAMEDEAL_REDIS_URL one worker runs.",
            err=True,
        )
        workers = 1
    try:
        # Here, too, so that a database that cannot be used is told once and plainly.
        asyncio.run(migrate(database_url(found.database_url, found.data_dir)))
    except (CannotMigrate, Unavailable, OSError) as error:
        raise Refused(f"the database cannot be used: {error or 'it does not answer'}") from None
    sys.exit(run(found, host, port, workers))


@main.command("migrate")
@click.argument("revision", default="head")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False))
def migrate_(revision: str, data_dir: Path | None) -> None:
    """Bring the schema to a revision: head, base, a number, +1 or -1."""
    found = _settings(data_dir)
    try:
        asyncio.run(migrate(database_url(found.database_url, found.data_dir), revision))
    except (CannotMigrate, Unavailable, OSError) as error:
        raise Refused(f"cannot migrate: {error or 'the database does not answer'}") from None


@main.command()
@click.argument("game")
@click.argument("seed")
def deal(game: str, seed: str) -> None:
    """Print a deal: its commitment, its cards in order, its board."""
    try:
        position = start(game, seed)
    except (UnknownGame, BadSeed) as error:
        raise Refused(_why(error)) from None
    cards = shuffled(game, GAMES[game].deck, seed)
    click.echo(f"commitment {commitment(game, seed)}")
    for at in range(0, len(cards), 16):
        click.echo(" ".join(cards[at : at + 16]))
    for name, pile in position.board().piles.items():
        if pile.down or pile.up:
            click.echo(f"{name:>3} {'## ' * min(pile.down, 4)}({pile.down}) {' '.join(pile.up)}")


class _Replay(msgspec.Struct):
    game: str
    seed: str
    moves: list[str]


@main.command()
@click.argument("file", type=click.File("rb"))
def replay(file: BinaryIO) -> None:
    """Replay {"game", "seed", "moves": [texts]} from FILE (- for standard input)."""
    try:
        asked = msgspec.json.decode(file.read(), type=_Replay)
        position = start(asked.game, asked.seed)
    except msgspec.MsgspecError as error:
        raise Refused(f"not a replay: {error}") from None
    except (UnknownGame, BadSeed) as error:
        raise Refused(_why(error)) from None
    for ply, move in enumerate(asked.moves, 1):
        try:
            position = position.apply(move).position
        except IllegalMove as error:
            legal = " ".join(error.legal) or "none: the game is over"
            raise Refused(f"ply {ply}: {move} is not legal here (legal: {legal})") from None
    status = "solved" if position.solved else "playing" if position.legal() else "stuck"
    result = {
        "status": status,
        "ply": len(asked.moves),
        "score": position.score,
        "legal": position.legal(),
        "board": position.board(),
    }
    click.echo(msgspec.json.format(msgspec.json.encode(result)))


@main.command("verify")
@click.argument("proof", type=click.File("rb"))
def verify_(proof: BinaryIO) -> None:
    """Check a race's proof (a file, or - for standard input): re-deal, replay, re-rank."""
    try:
        checked = verify(proof.read())
    except BadProof as error:
        raise Refused(f"the proof does not hold: {error}") from None
    click.echo(
        f"The proof holds: {checked.plays} plays of {checked.game}, "
        f"{checked.moves} log entries, and the standings follow from them."
    )


@main.command()
def demo() -> None:
    """Let four built-in players race one deal of each game, and check the result."""
    from service.demo import run  # the demo brings a client along

    sys.exit(run())


@main.group()
def boards() -> None:
    """The leaderboards that Redis keeps beside the database."""


@boards.command()
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False))
def rebuild(data_dir: Path | None) -> None:
    """Fill all of them anew from the database. Servers may go on meanwhile."""
    found = _settings(data_dir)
    if found.redis_url is None:
        raise Refused(
            "SAMEDEAL_REDIS_URL is not set: without Redis boards are read from the database,"
            " and there is nothing to rebuild"
        )
    try:
        names = asyncio.run(_rebuilt(found, found.redis_url))
    except BoardsAway:
        raise Refused("Redis does not answer") from None
    except (CannotMigrate, Unavailable, OSError) as error:
        raise Refused(f"the database cannot be used: {error or 'it does not answer'}") from None
    for name in names:
        click.echo(name)
    click.echo(f"Rebuilt {len(names)} boards.")


async def _rebuilt(found: settings_.Settings, redis_url: str) -> list[str]:
    url = database_url(found.database_url, found.data_dir)
    redis = RedisBoards(redis_url, found.redis_prefix)
    database = Database(url)
    try:
        await redis.meet()
        await migrate(url)
        await database.start()
        return await rebuild_all(database, redis)
    finally:
        await redis.stop()
        await database.stop()


@main.command()
@click.option(
    "--level", type=click.Choice(["easy", "steady", "sharp"]), default="steady", show_default=True
)
@click.option("--count", default=1, show_default=True, type=click.IntRange(1, 100))
@click.option("--server", default="http://127.0.0.1:8000", show_default=True)
@click.option("--game", type=click.Choice(list(GAMES)), help="Race only this game.")
@click.option(
    "--pace",
    default=1.5,
    show_default=True,
    type=click.FloatRange(0, 60),
    help="Seconds a move, about.",
)
@click.option("--race-each-other", is_flag=True, help="Open lobbies, too, and race among bots.")
@click.option(
    "--state-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the bots' names and tokens are kept.  [default: ~/.local/state/samedeal]",
)
def bots(
    level: str,
    count: int,
    server: str,
    game: str | None,
    pace: float,
    race_each_other: bool,
    state_dir: Path | None,
) -> None:
    """Let house bots wait for somebody to race, until ended."""
    from service.bots.house import Order, run  # they bring a client along
    from service.bots.manners import Manners

    if not server.startswith(("http://", "https://")):
        raise Refused("--server is an address such as http://127.0.0.1:8000")
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    order = Order(
        address=server.rstrip("/"),
        manners=Manners(level, game, race_each_other),
        bots=count,
        pace=pace,
        folder=state_dir or home / "samedeal",
    )
    sys.exit(run(order))


def _why(error: Exception) -> str:
    if isinstance(error, UnknownGame):
        return f"there is no such game; the games are {', '.join(GAMES)}"
    return str(error)
