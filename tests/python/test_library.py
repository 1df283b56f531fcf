# SPDX-License-Identifier: MIT
"""The structs of the package against the headers, the exceptions, and what the loader says."""

import ctypes
import os
import subprocess
import sys

import pytest

import reel
from reel import _library


def members():
    """Each struct and its members: name in C, member, place, size."""
    for name, struct in _library.STRUCTS.items():
        yield name, None, 0, ctypes.sizeof(struct)
        for member, *_ in struct._fields_:
            field = getattr(struct, member)
            yield name, member, field.offset, field.size


def test_structs_are_those_of_the_headers(tmp_path):
    source = os.environ["SOURCE_DIR"]
    lines = ["#include <stddef.h>", "#include <reel.h>", "#include <reel/parcel.h>", "#include <reel/plan.h>"]
    for name, member, place, size in members():
        if member is None:
            lines.append(f"_Static_assert(sizeof(struct {name}) == {size}, \"{name}\");")
        else:
            lines.append(f"_Static_assert(offsetof(struct {name}, {member}) == {place} && "
                         f"sizeof(((struct {name} *)0)->{member}) == {size}, \"{name}.{member}\");")
    program = tmp_path / "layout.c"
    program.write_text("\n".join(lines) + "\n")
    # "struct reel_action" is the name of the type in C, too.
    subprocess.run([*os.environ["CC"].split(), "-std=c11", "-fsyntax-only", f"-I{source}/include", str(program)],
                   check=True)


def test_failures_have_the_text_of_the_library_and_a_code():
    with pytest.raises(ValueError, match="is not understood") as caught:
        reel.Pool("1M", store="nonsense")
    assert isinstance(caught.value, reel.Error) and caught.value.errno == 22
    with pytest.raises(OSError, match="no-such-directory"):
        reel.Pool("8M", directory="/no-such-directory")
    with pytest.raises(MemoryError, match="never fits"):
        reel.Pool("4M").empty(1 << 20)


@pytest.mark.parametrize("size, wanted", [(0, 0), (17, 17), ("17", 17), ("4K", 4096), ("1.5 GiB", 3 << 29), ("2mb", 2 << 20)])
def test_sizes(size, wanted):
    from reel._sizes import to_bytes

    assert to_bytes(size, "budget") == wanted


@pytest.mark.parametrize("size", [-1, "", "G", "4 apples", "-3M", "nan"])
def test_wrong_sizes(size):
    with pytest.raises(ValueError, match="budget"):
        reel.Pool(size)


def test_an_absent_library_is_named():
    run = subprocess.run([sys.executable, "-c", "import reel"], env={**os.environ, "REEL_LIBRARY": "/no/such.so"},
                         capture_output=True, text=True)
    assert run.returncode == 1 and "REEL_LIBRARY" in run.stderr and "ImportError" in run.stderr
