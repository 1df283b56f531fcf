# SPDX-License-Identifier: MIT
# The Python package, which pip installs from this folder. It calls the shared library.
EXTRA_DIST += %D%/README.md %D%/pyproject.toml %D%/reel/py.typed \
	%D%/reel/__init__.py \
	%D%/reel/__main__.py \
	%D%/reel/_actions.py \
	%D%/reel/_check.py \
	%D%/reel/_ends.py \
	%D%/reel/_errors.py \
	%D%/reel/_library.py \
	%D%/reel/_mpi.py \
	%D%/reel/_offload.py \
	%D%/reel/_package.py \
	%D%/reel/_plan.py \
	%D%/reel/_pool.py \
	%D%/reel/_pyadjoint.py \
	%D%/reel/_run.py \
	%D%/reel/_sizes.py \
	%D%/reel/schedules.py
