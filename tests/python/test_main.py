# SPDX-License-Identifier: MIT
"""python -m reel: the plans that the command `reel` prints, drawings, and what is there."""

import json
import os
import subprocess
import sys

import pytest

import reel
from reel.__main__ import main

REQUESTS = [
    "--steps 100 --slots 5", "--steps 100", "--steps 1000 --planner hierarchical:3:20", "--steps 100 --planner online",
    "--steps 100 --planner multistage:3:20 --write-cost 2", "--steps 50 --planner all", "--steps 100 --planner mixed:8:2",
    "--steps 100 --slots 3 --disk-slots 20", "--steps 40 --slots 3 --disk-slots 100 --period 5", "--steps 0 --slots 1", "--steps 33 --slots 3 --planner store-all",
    "--steps 100 --slots 5 --disk-slots 10 --write-cost 2 --read-cost 1.5",
    "--steps 33 --slots 3 --disk-slots 4 --planner multistage",
    "--steps 33 --slots 9 --planner mixed --tape-states 2 --record-cost 1.7 --reverse-cost 3.1",
    "--steps 40 --slots 3 --disk-slots 100 --planner two-level --period 5",
    "--steps 40 --slots 3 --disk-slots 100 --planner periodic",
    "--steps 40 --slots 3 --disk-slots 100 --planner disk-revolve --write-cost 1",
    "--steps 0 --slots 5 --planner online", "--steps 1 --slots 5 --planner online",
    "--steps 200 --slots 5 --planner online",
]


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("form", ["", "--json", "--actions", "--actions --json"])
def test_plans_are_those_of_the_command(request_, form, capsys):
    command = os.path.join(os.environ["BUILD_DIR"], "tools", "reel")
    if not os.path.exists(command):
        pytest.skip("the command is not built")
    words = ["plan", *request_.split(), *form.split()]
    assert main(words) == 0
    wanted = subprocess.run([command, *words], capture_output=True, text=True, check=True).stdout
    assert capsys.readouterr().out == wanted


@pytest.mark.parametrize("words, why", [
    ("--steps 10 --slots 0", "no slot"), ("--steps 10 --slots 3 --planner bionomial", "binomial, mixed"),
    ("--steps -1 --slots 3", "no -1 steps"), ("--steps 40 --slots 3 --disk-slots 3 --planner disk-revolve", "a slot for each step")])
def test_wrong_plans_are_one_line(words, why, capsys):
    assert main(["plan", *words.split()]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and why in said.err and "--help" in said.err


@pytest.mark.parametrize("words", ["", "plan", "plan --steps x --slots 3", "plan --slots 3", "nonsense"])
def test_wrong_words(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 and "usage" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_version(word, capsys):
    with pytest.raises(SystemExit) as ended:
        main([word])
    assert ended.value.code == 0 and capsys.readouterr().out == f"reel {reel.__version__}\n"


def test_a_plan_is_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    words = ["plan", "--steps", "30", "--slots", "4", "--draw"]
    assert main([*words, str(tmp_path / "plan.png")]) == 0
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    for wrong in (tmp_path / "no-such-directory" / "plan.png", tmp_path / "plan.nonsense"):
        assert main([*words, str(wrong)]) == 1
        assert "cannot be drawn" in capsys.readouterr().err


def run(*words, **options):
    return subprocess.run([sys.executable, "-m", "reel", *words], capture_output=True, text=True, **options)


def test_what_is_there():
    text, objects = run("info"), run("info", "--json")
    assert text.returncode == objects.returncode == 0, text.stderr + objects.stderr
    facts = json.loads(objects.stdout)
    assert [line.split(":")[0] for line in text.stdout.splitlines()] == list(facts)
    assert facts["version"] == reel.__version__ and facts["library"] == os.environ["REEL_LIBRARY"]
    assert facts["planners"].split(", ") == reel.planners()
    try:
        import mpi4py
    except ImportError:
        assert facts["mpi4py"] == "no" and facts["ranks"].startswith("no: ")
    else:
        assert facts["mpi4py"] == mpi4py.__version__


def test_why_there_are_no_ranks(tmp_path):
    pytest.importorskip("mpi4py")
    said = run("info", "--json", env={**os.environ, "REEL_MPI_LIBRARY": str(tmp_path / "none.so")})
    assert json.loads(said.stdout)["ranks"].startswith("no: libreel-mpi was not found")


@pytest.mark.parametrize("steps", [10, 100_000])
def test_a_reader_that_goes_away(steps):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    words = ["plan", "--steps", str(steps), "--slots", "10", "--actions"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "reel", *words], stdout=writing, stderr=subprocess.PIPE,
                          env=environment, text=True)
    os.close(writing)
    assert done.returncode == 1 and done.stderr == ""
