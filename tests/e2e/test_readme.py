"""What README.md says can be typed, is typed."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from service.rules import start
from tests.e2e.conftest import Racers
from tests.e2e.racing import Socket, begin, eager, proved
from tests.e2e.served import PATIENCE_S, Services

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROGRAM = str(Path(sys.executable).with_name("samedeal"))


def block(title: str) -> str:
    """The commands in the first block after a heading."""
    found = re.search(rf"^## {title}\n.*?^```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no commands under {title}"
    return found[1].replace(".venv/bin/samedeal", PROGRAM)


async def shell(script: str, folder: Path) -> str:
    """What a script prints; it must succeed."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euc", script),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_S):
        said, complained = await process.communicate()
    assert process.returncode == 0, (script, said, complained)
    return said.decode()


async def test_deal(tmp_path: Path) -> None:
    (command,) = re.findall(r"`\.venv/bin/(samedeal deal [^`]*)`", README)
    said = await shell(command.replace("samedeal", PROGRAM), tmp_path)
    assert "e78f9cb55974aa81006c0d8d98b8d437dd9adb56839e0d73154455c922a64add" in said
    assert "6C 5S 4S 6S 9H 2H 3D 4D 2C TD" in said


async def test_replay(tmp_path: Path) -> None:
    position, moves = start("kings-way", "1"), []
    while legal := position.legal():
        moves.append(legal[0])
        position = position.apply(legal[0]).position
    (tmp_path / "FILE").write_text(json.dumps({"game": "kings-way", "seed": "1", "moves": moves}))
    (command,) = re.findall(r"`\.venv/bin/(samedeal replay FILE)`", README)
    said = json.loads(await shell(command.replace("samedeal", PROGRAM), tmp_path))
    assert (said["ply"], said["score"], said["legal"]) == (len(moves), position.score, [])


async def test_a_race_by_hand(services: Services, tmp_path: Path) -> None:
    server = await services.start()
    commands = block("A race by hand").replace("http://127.0.0.1:8000", server.url)
    lines = [
        line.partition("  #")[0].replace("curl", "curl -sSf") for line in commands.splitlines()
    ]
    settings, (guests, auth, race, join, go) = lines[0], lines[1:]

    async def typed(line: str, token: str = "", race: str = "") -> dict[str, Any]:
        names = f"{settings}\n{auth.replace('TOKEN', token)}\n"
        said = await shell(names + line.replace("ID", race), tmp_path)
        answer: dict[str, Any] = json.loads(said)
        return answer

    first, second = [await typed(guests) for _ in range(2)]
    made = await typed(race, first["token"])
    assert (made["game"], made["state"]) == ("kings-way", "lobby")
    assert (await typed(join, second["token"], made["id"]))["total"] == 2
    assert (await typed(go, first["token"], made["id"]))["state"] == "countdown"
    services.secrets |= {first["token"], second["token"]}


async def test_a_socket_and_checking_a_result(
    services: Services, racers: Racers, tmp_path: Path
) -> None:
    server = await services.start()
    (racer,) = await racers(1, server)
    made = await racer.done("POST", "/v1/races", {"game": "kings-way", "kind": "live"})
    racer.race = made["id"]
    # The frames of the text, word for word.
    auth, watch, move = map(
        json.loads, re.findall(r"`(\{\"op\": [^`]*\})`", README.replace("\n", " "))
    )
    socket = await Socket.open(server.url, on_frame=racer._take)
    racer.sockets.append(socket)
    await socket.send(**auth | {"token": racer.token})
    await socket.send(**watch | {"topic": watch["topic"].replace("ID", made["id"])})
    await racer.until(lambda: racer.race_v > 0, "the race is told")
    await begin([racer])
    await socket.send(**move | {"play": racer.play["id"]})
    assert (await socket.frame(op="ack", id=move["id"]))["data"]["move"] == move["move"]
    await racer.play_on(eager)
    await proved([racer])

    commands = block("Checking a result").replace("http://127.0.0.1:8000", server.url)
    said = await shell(commands.replace("curl", "curl -sSf").replace("ID", made["id"]), tmp_path)
    assert said.startswith("The proof holds: 1 plays of kings-way")
    text = (tmp_path / "proof.json").read_text()
    (tmp_path / "proof.json").write_text(text.replace('"move":"turn"', '"move":"redeal"', 1))
    with pytest.raises(AssertionError, match="does not hold"):
        await shell(commands.splitlines()[-1], tmp_path)


async def test_running_it_for_real(
    services: Services, racers: Racers, fresh_postgres_url: str, redis_url: str
) -> None:
    commands = block("Running it for real").splitlines()
    environ = dict(line.removeprefix("export ").split("=", 1) for line in commands[:-1])
    assert list(environ) == ["SAMEDEAL_DATABASE_URL", "SAMEDEAL_REDIS_URL"]
    assert environ["SAMEDEAL_DATABASE_URL"].split("//")[0] == fresh_postgres_url.split("//")[0]
    (workers,) = re.findall(r"--workers (\d+)", commands[-1])
    server = await services.start(fresh_postgres_url, redis_url, workers=int(workers))
    assert len(server.workers()) == int(workers)
    assert (await racers(1, server))[0].id


async def test_commands_variables_and_options_exist(tmp_path: Path) -> None:
    named = {word for text in BLOCKS for word in re.findall(r"^make (\w+)", text, re.MULTILINE)}
    named |= set(re.findall(r"`make (\w+)`", README))
    makefile = (ROOT / "Makefile").read_text()
    assert named
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
    for variable in re.findall(r"SAMEDEAL_[A-Z_]+", README):
        assert variable in (ROOT / "service" / "settings.py").read_text() or "TEST" in variable
    helps = " ".join(f"{PROGRAM} {of} --help;" for of in ("serve", "bots", ""))
    told = await shell(helps, tmp_path)
    for option in re.findall(r"`(--[a-z-]+)`", README):
        assert option in told
    for command in re.findall(
        r"samedeal (deal|replay|verify|migrate|serve|boards|bots|solve|survey)\b", README
    ):
        assert re.search(rf"^  {command}\b", told, re.MULTILINE), command
    for file in re.findall(
        r"\]\((\w+\.md)\)|`((?:deploy/)?[\w.-]*(?:yml|Caddyfile|example))`", README
    ):
        assert (ROOT / next(filter(None, file))).exists(), file
