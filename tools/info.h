/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_INFO_H
#define REEL_TOOLS_INFO_H

#include "facts.h"

/* Add the facts of each subject of "reel info", in the order of the output. */
void add_feature_facts(struct facts *facts);
void add_machine_facts(struct facts *facts);
void add_gpu_facts(struct facts *facts);
void add_environment_facts(struct facts *facts);

#endif
