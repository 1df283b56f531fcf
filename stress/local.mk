# Long torture programs, built and run by name. Nothing is built yet.
EXTRA_DIST += %D%/README.md
