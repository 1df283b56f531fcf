# SPDX-License-Identifier: MIT
"""python -m reel: what is there."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import reel
from reel.__main__ import main


@pytest.mark.parametrize("words", ["plan", "info x", "nonsense", "--libs=x"])
def test_wrong_words(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 and "usage" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_version(word, capsys):
    with pytest.raises(SystemExit) as ended:
        main([word])
    assert ended.value.code == 0 and capsys.readouterr().out == f"reel {reel.__version__}\n"


def run(*words, **options):
    return subprocess.run([sys.executable, "-m", "reel", *words], capture_output=True, text=True, **options)


def test_what_is_there():
    text, objects = run(), run("info", "--json")
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
    alone = tmp_path / "libreel.so.0"
    alone.symlink_to(os.environ["REEL_LIBRARY"])
    said = run("info", "--json", env={**os.environ, "REEL_LIBRARY": str(alone)})
    assert json.loads(said.stdout)["ranks"].startswith("no: libreel-mpi was not found")


def test_flags_for_c_programs_are_of_the_library_inside_the_package(tmp_path):
    said = run("--cflags", "--libs")
    assert said.returncode == 2 and "has no library inside" in said.stderr and "pkg-config" in said.stderr
    copy = tmp_path / "reel"
    shutil.copytree(os.path.dirname(reel.__file__), copy)
    (copy / "lib").mkdir()
    (copy / "lib" / "libreel.so.0").symlink_to(os.environ["REEL_LIBRARY"])
    said = run("--cflags", "--libs", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert said.stdout == f"-I{copy}/include -L{copy}/lib -lreel -Wl,-rpath,{copy}/lib\n", said.stderr
    (copy / "lib" / "libreel-malloc.so").touch()
    without_variable = {name: value for name, value in os.environ.items() if name != "REEL_LIBRARY"}
    said = run("--malloc", env={**without_variable, "PYTHONPATH": str(tmp_path)})
    assert said.stdout == f"{copy}/lib/libreel-malloc.so\n", said.stderr
    said = run("--pkgconfigdir", "--cmakedir", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert said.stdout == f"{copy}/lib/pkgconfig {copy}/lib/cmake/Reel\n", said.stderr
