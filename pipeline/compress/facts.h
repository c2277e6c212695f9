/*
 * facts.h - all that the policy is told, gathered where it is measured
 */
#ifndef GZLZSS_FACTS_H
#define GZLZSS_FACTS_H

#include "pipeline/crew/state.h"

/* What is known now. */
void facts_get(const struct pipeline *p, struct policy_facts *f);

#endif
