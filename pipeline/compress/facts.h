/*
 * facts.h - gathers all that the policy is told, from the files that measure it
 */
#ifndef GZLZSS_FACTS_H
#define GZLZSS_FACTS_H

#include "pipeline/crew/state.h"

/* Fills in *f with what is known now. */
void facts_get(const struct pipeline *p, struct policy_facts *f);

#endif
