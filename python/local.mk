# SPDX-License-Identifier: MIT
# The Python package, which pip installs from this folder. It calls the shared library.
EXTRA_DIST += %D%/README.md %D%/jax-calls.c %D%/pyproject.toml %D%/reel/py.typed \
	%D%/reel/__init__.py \
	%D%/reel/__main__.py \
	%D%/reel/_api.py \
	%D%/reel/_audit.py \
	%D%/reel/_audit_pyadjoint.py \
	%D%/reel/_audit_torch.py \
	%D%/reel/_check.py \
	%D%/reel/_checkpoint.py \
	%D%/reel/_device.py \
	%D%/reel/_ends.py \
	%D%/reel/_errors.py \
	%D%/reel/_jax_calls.py \
	%D%/reel/_library.py \
	%D%/reel/_mpi.py \
	%D%/reel/_offload.py \
	%D%/reel/_package.py \
	%D%/reel/_plan.py \
	%D%/reel/_pool.py \
	%D%/reel/_pyadjoint.py \
	%D%/reel/_run.py \
	%D%/reel/_sizes.py \
	%D%/reel/jax.py \
	%D%/reel/schedules.py

# The table of functions and structs of the headers for ctypes. It is under version control, because pip installs the
# package without a build.
python_api = %D%/reel/_api.py
.PHONY: api
api:
	cd $(srcdir) && $(AWK) $(api_reader) -f build-aux/api/python.awk include/reel/version.h include/reel/error.h \
		include/reel/figures.h include/reel/layout.h include/reel/loss.h include/reel/model.h include/reel/run.h \
		include/reel/plan.h include/reel/pool.h include/reel/store.h include/reel/parcel.h \
		include/reel/gpu.h >$(python_api).new && mv $(python_api).new $(python_api)
