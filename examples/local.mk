include examples/tsunami/local.mk
