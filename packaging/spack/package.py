# SPDX-License-Identifier: MIT
# For Spack 1.0 and later: repos/spack_repo/builtin/packages/reel/package.py in the repository of its packages.
# packaging/release.sh writes the version, the addresses and, in build/release/, the checksum of the tarball.

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Reel(AutotoolsPackage):
    """Tape for reverse-mode automatic differentiation: tapes larger than memory, checkpoints, and
    adjoints of OpenMP and MPI programs."""

    homepage = "https://example.org/reel"
    url = "https://example.org/reel/reel-0.2.0.tar.xz"

    license("MIT")

    version("0.2.0")

    variant("openmp", default=True, description="Run the sweeps of libreel-omp by several threads")
    variant("mpi", default=False, description="Build libreel-mpi")
    variant("cuda", default=False, description="Build the programs in gpu/ by nvcc; libreel-cuda needs none")
    variant("lz4", default=True, description="Compress what is spilled")
    variant("shared", default=True, description="Build shared libraries as well as static ones")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("lz4@1.8:", when="+lz4")
    depends_on("mpi", when="+mpi")
    depends_on("cuda", when="+cuda")

    conflicts("platform=windows")

    def configure_args(self):
        args = ["--with-pool=c11", "--with-libdw=no", "--with-sqlite=no", "--with-tsunami=no"]
        args += ["--with-adolc=no", "--with-petsc=no", "--with-verifier=no", "--enable-static"]
        args += self.enable_or_disable("openmp")
        args += self.enable_or_disable("shared")
        args.append("--with-lz4=" + ("yes" if "+lz4" in self.spec else "no"))
        args.append("--with-cuda=" + ("yes" if "+cuda" in self.spec else "no"))
        # The flags come from mpicc of the MPI that the user has chosen.
        args.append("--with-mpi=" + ("mpicc" if "+mpi" in self.spec else "no"))
        return args
