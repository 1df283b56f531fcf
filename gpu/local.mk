# libreel-cuda: a store in GPU memory and a tape for kernels. Nothing is built yet.
EXTRA_DIST += %D%/README.md
