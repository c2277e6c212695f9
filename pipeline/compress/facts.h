/*
 * facts.h - gathers the facts for the policy from the files that measure them
 */
#ifndef GZLZSS_FACTS_H
#define GZLZSS_FACTS_H

#include "pipeline/crew/state.h"

/* Fills in *f with the facts that are known now. */
void facts_get(const struct pipeline *p, struct policy_facts *f);

#endif
