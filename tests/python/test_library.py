# SPDX-License-Identifier: MIT
"""The structs of the package against the headers, the exceptions, and what the loader says."""

import copy
import ctypes
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

import reel
from reel import _api


def members():
    """Each struct and its members: name in C, member, place, size."""
    for name, struct in _api.STRUCTS.items():
        yield name, None, 0, ctypes.sizeof(struct)
        for member, *_ in struct._fields_:
            field = getattr(struct, member)
            yield name, member, field.offset, field.size


def test_structs_are_those_of_the_headers(tmp_path):
    source = os.environ["SOURCE_DIR"]
    lines = ["#include <stddef.h>", "#include <reel.h>", "#include <reel/gpu.h>", "#include <reel/parcel.h>",
             "#include <reel/plan.h>"]
    for name, member, place, size in members():
        if member is None:
            lines.append(f"_Static_assert(sizeof(struct {name}) == {size}, \"{name}\");")
        else:
            lines.append(f"_Static_assert(offsetof(struct {name}, {member}) == {place} && "
                         f"sizeof(((struct {name} *)0)->{member}) == {size}, \"{name}.{member}\");")
    program = tmp_path / "layout.c"
    program.write_text("\n".join(lines) + "\n")
    # "struct reel_action" is also the name of the type in C.
    subprocess.run([*os.environ["CC"].split(), "-std=c11", "-fsyntax-only", f"-I{source}/include", str(program)],
                   check=True)


def test_failures_have_the_text_of_the_library_and_a_code():
    with pytest.raises(ValueError, match="is not understood") as caught:
        reel.Pool("8M", store="nonsense")
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


def test_failures_go_from_process_to_process():
    with pytest.raises(MemoryError) as caught:
        reel.Pool("4M").empty(1 << 20)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is reel.MemoryError and str(again) == str(caught.value) and again.errno == caught.value.errno


def test_all_names_of_the_package_leave_those_of_the_interpreter():
    names = {}
    exec("from reel import *\nwanted = MemoryError", names)
    assert names["wanted"] is MemoryError and names["Pool"] is reel.Pool


def test_what_the_library_owns_is_not_copied():
    pool = reel.Pool("8M")
    plan = reel.Plan("binomial", 4, [2])
    for owner in (pool, pool.empty(3), plan, plan.schedule(), reel.Run(plan, np.zeros(2))):
        for copies in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied"):
                copies(owner)


def test_the_interpreter_may_end_while_a_thread_is_in_a_run():
    program = ("import threading, time, numpy, reel\n"
               "run = reel.Run(reel.Plan('binomial', 1000000, [20]), numpy.zeros(100), pool=reel.Pool('8M'))\n"
               "work = lambda: run.gradient(lambda i: None, lambda i, kept: None)\n"
               "threading.Thread(target=work, daemon=True).start()\n"
               "time.sleep(0.2)\n")
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def run(program, **variables):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **variables})


def import_reel(**variables):
    """What an interpreter says that imports the package."""
    return run("import reel; print(reel._lib._name)", **variables)


@pytest.mark.parametrize("library, reason", [
    ("", "/no/such.so: cannot open"),
    ("int reel_version_number(void) { return 100; } const char *reel_version(void) { return \"0.1.0\"; }",
     "other.so is version 0.1.0"),
    ("int reel_version_number(void) { return 1 << 30; } const char *reel_version(void) { return \"1\"; }",
     "other.so: undefined symbol: reel_"),
], ids=["missing", "old", "without-a-function"])
def test_a_missing_or_old_library_is_named_with_remedies(library, reason, tmp_path):
    other = tmp_path / "other.so" if library else "/no/such.so"
    if library:
        (tmp_path / "other.c").write_text(library)
        subprocess.run([*os.environ["CC"].split(), "-shared", "-fPIC", "-o", str(other), str(tmp_path / "other.c")],
                       check=True)
    said = import_reel(REEL_LIBRARY=str(other))
    last = said.stderr.splitlines()[-1]
    assert said.returncode == 1 and last.startswith("ImportError: no libreel") and reason in last, said.stderr
    assert "pip install" in last and "libreel0" in last and "REEL_LIBRARY" in last


def test_the_library_inside_the_package_comes_after_the_one_that_is_named(tmp_path):
    inside = tmp_path / "reel" / "lib" / "libreel.so.0"
    shutil.copytree(os.path.dirname(reel.__file__), tmp_path / "reel")
    inside.parent.mkdir()
    inside.symlink_to(os.environ["REEL_LIBRARY"])
    assert import_reel(PYTHONPATH=str(tmp_path)).stdout.strip() == os.environ["REEL_LIBRARY"]
    assert import_reel(PYTHONPATH=str(tmp_path), REEL_LIBRARY="").stdout.strip() == str(inside)


LOAD_GPU = "from reel._library import gpu_library; print(gpu_library()._name)"


def test_the_library_for_gpus_lies_beside_the_library():
    beside = os.path.join(os.path.dirname(os.environ["REEL_LIBRARY"]), "libreel-cuda.so.0")
    if not os.path.exists(beside):
        pytest.skip("libreel-cuda was not built")
    said = run(LOAD_GPU)
    assert said.stdout == f"{beside}\n", said.stderr


def test_a_missing_library_for_gpus_is_named_with_remedies(tmp_path):
    library = shutil.copy(os.environ["REEL_LIBRARY"], tmp_path / "libreel.so.0")
    said = run(LOAD_GPU, REEL_LIBRARY=str(library))
    if said.returncode == 0:
        pytest.skip("the system has libreel-cuda")
    last = said.stderr.splitlines()[-1]
    assert last.startswith("ImportError: no libreel-cuda") and "cannot open" in last and "libreel-cuda0" in last, said


def test_a_library_for_gpus_of_another_version_is_refused(tmp_path):
    library = shutil.copy(os.environ["REEL_LIBRARY"], tmp_path / "libreel.so.0")
    (tmp_path / "other.c").write_text("int reel_gpu_count(unsigned *count) { return *count = 0; }")
    subprocess.run([*os.environ["CC"].split(), "-shared", "-fPIC", "-o", str(tmp_path / "libreel-cuda.so.0"),
                    str(tmp_path / "other.c")], check=True)
    said = run(LOAD_GPU, REEL_LIBRARY=str(library))
    assert said.returncode == 1 and "ImportError: no libreel-cuda" in said.stderr and "undefined symbol" in said.stderr
