/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_INFO_H
#define REEL_TOOLS_INFO_H

#include "facts.h"

/* The subjects of "reel info", in the order in which they are shown. */
void add_feature_facts(struct facts *facts);
void add_machine_facts(struct facts *facts);
void add_openmp_facts(struct facts *facts);
void add_gpu_facts(struct facts *facts);
void add_environment_facts(struct facts *facts);

#endif
