# SPDX-License-Identifier: MIT
"""Runs on DOLFINx. Its forms are compiled first, which takes seconds: these tests are for ./check python."""

import os
import subprocess
import sys

import pytest

if not os.environ.get("TEST_LONG"):
    pytest.skip("DOLFINx is for ./check python", allow_module_level=True)


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_gradient_of_the_heat_equation_is_that_of_differences(ranks, tmp_path):
    pytest.importorskip("dolfinx")
    if not os.environ.get("MPIRUN", "").strip():
        pytest.skip("there is no mpirun")
    program = os.path.join(os.environ["SOURCE_DIR"], "examples", "heat.py")
    done = subprocess.run([*os.environ["MPIRUN"].split(), "-n", str(ranks), sys.executable, "-m", "mpi4py", program],
                          capture_output=True, text=True, timeout=300, cwd=tmp_path,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0 and "differs from differences" in done.stdout, done.stdout + done.stderr
