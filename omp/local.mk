# libreel-omp: tapes for OpenMP programs. Nothing is built yet.
EXTRA_DIST += %D%/README.md
