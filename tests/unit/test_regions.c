/*
 * test_regions.c - the list of a decompression's regions stays whole when a region is cut in two
 *
 * The file with the list is included, because it alone knows cut_off.  No worker is called.
 */
#include "config.h"

#include "pipeline/crew/workers.h"

#define crew_call(p) ((void)(p))
#include "pipeline/expand/regions.c"
#undef crew_call

#include "tests/unit/unit.h"

enum { COUNT = 3 };

/* Cuts region number `n` of three regions of 100 bytes each at its byte 40. */
static void check_cut(int n)
{
    struct region regions[COUNT] = {
        {.from = 0, .to = 100}, {.from = 100, .to = 200}, {.from = 200, .to = 300}};
    struct expansion e = {.regions = {.first = regions, .last = &regions[COUNT - 1]}};
    struct region *rest, *last = NULL;
    uint64_t at = 0;
    int count = 0;

    for (int i = 0; i + 1 < COUNT; i++)
        regions[i].next = &regions[i + 1];
    rest = unit_need(cut_off(&e, &regions[n], regions[n].from + 40));
    CHECK(regions[n].next == rest && rest->is_rest);
    for (struct region *r = e.regions.first; r != NULL && count <= COUNT; r = r->next, count++) {
        CHECK_EQ(r->from, at);
        at = r->to;
        last = r;
    }
    CHECK_EQ(at, 300);
    CHECK_EQ(count, COUNT + 1);
    /* The next region is added after this one. */
    CHECK(e.regions.last == last);
    free(rest);
}

static void test_cut(void)
{
    for (int n = 0; n < COUNT; n++)
        check_cut(n);
}

int main(void)
{
    RUN(test_cut);
    return unit_done();
}
