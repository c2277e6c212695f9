/*
 * twins.c - finds a GPU's match finder by its twin on the CPU
 *
 * This list of all finders is here, and not in gpu/, because the engine in gpu/ knows nothing of
 * papers/.
 */
#include "config.h"

#include <stddef.h>

#include "gpu/module.h"
#include "lzss/finders.h"
#ifdef HAVE_PAPERS
#include "papers/papers.h"
#endif

/* A GPU's match finder, by its name as a C identifier. */
struct twin {
    const char *name;
    const struct gpu_finder *finder;
};

#define TWIN(name) {#name, &gpu_finder_##name},
static const struct twin twins[] = {LZ_FINDERS(TWIN)
#ifdef HAVE_PAPERS
                                        PAPER_METHODS(TWIN)
#endif
};
#undef TWIN

/* Whether the finder's name is the identifier, which has '_' where the name has '-'. */
static bool is_name_of(const char *name, const char *identifier)
{
    while (*name != '\0' && (*name == *identifier || (*name == '-' && *identifier == '_')))
        name++, identifier++;
    return *name == *identifier;
}

const struct gpu_finder *gpu_twin(const struct lz_level *level)
{
    for (size_t i = 0; i < sizeof(twins) / sizeof(twins[0]); i++)
        if (is_name_of(level->finder->name, twins[i].name))
            return twins[i].finder;
    return NULL;
}
