/*
 * test_deal.c - which rank works on which file: each file goes to the rank that has the fewest
 * bytes so far
 */
#include "config.h"

#include <string.h>

#include "mpi/deal.h"
#include "tests/unit/unit.h"

static uint64_t state = 1;

/* Returns a random number below `limit`. */
static uint64_t any(uint64_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 20) % limit;
}

/* Does the same as deal_files, directly by the definition, which takes count x (count + ranks)
 * steps. */
static void deal_slowly(int *owner, const uint64_t *sizes, size_t count, int ranks)
{
    uint64_t *loads = unit_need(calloc((size_t)ranks, sizeof(*loads))), total = 0;
    bool *is_dealt = unit_need(calloc(count, sizeof(*is_dealt)));

    for (size_t i = 0; i < count; i++)
        total += sizes[i];
    for (size_t n = 0; n < count; n++) {
        size_t file = count;
        int least = 0;

        for (size_t i = 0; i < count; i++)
            if (!is_dealt[i] && (file == count || sizes[i] > sizes[file]))
                file = i;
        is_dealt[file] = true;
        for (int rank = 1; rank < ranks; rank++)
            if (loads[rank] < loads[least])
                least = rank;
        owner[file] = DEAL_TO_ALL;
        if (ranks > 1 && (count == 1 || sizes[file] > total / (uint64_t)ranks))
            continue;
        owner[file] = least;
        loads[least] += sizes[file] + 65536;
    }
    free(loads);
    free(is_dealt);
}

static void test_as_by_definition(void)
{
    enum { MOST = 200 };
    uint64_t sizes[MOST];
    int owner[MOST], expected[MOST];

    for (int round = 0; round < 300; round++) {
        const size_t count = 1 + (size_t)any(MOST);
        const int ranks = 1 + (int)any(40);
        /* With a small limit, many files have equal sizes; with a large one, hardly any.  A few
         * files are 50 times as large, so that all ranks may share them. */
        const uint64_t limit = round % 3 == 0 ? 4 : round % 3 == 1 ? 1000000 : UINT64_C(1) << 40;

        for (size_t i = 0; i < count; i++)
            sizes[i] = any(limit) * (any(20) == 0 ? 50 : 1);
        CHECK(deal_files(owner, sizes, count, ranks, false));
        deal_slowly(expected, sizes, count, ranks);
        CHECK(memcmp(owner, expected, count * sizeof(*owner)) == 0);
    }
}

static void test_all_together(void)
{
    const uint64_t sizes[] = {5, 0, 7};
    int owner[3];

    CHECK(deal_files(owner, sizes, 3, 4, true));
    CHECK(owner[0] == DEAL_TO_ALL && owner[1] == DEAL_TO_ALL && owner[2] == DEAL_TO_ALL);
    /* A single rank has no other rank to share files with. */
    CHECK(deal_files(owner, sizes, 3, 1, true));
    CHECK(owner[0] == 0 && owner[1] == 0 && owner[2] == 0);
    CHECK(deal_files(owner, sizes, 1, 4, false));
    CHECK_EQ(owner[0], DEAL_TO_ALL);
}

/* Tests 100,000 files for 10,000 ranks, which would take 1.1 x 10^10 steps by the definition. */
static void test_many(void)
{
    enum { FILES = 100000, RANKS = 10000 };
    uint64_t *sizes = unit_need(malloc(FILES * sizeof(*sizes)));
    uint64_t *loads = unit_need(calloc(RANKS, sizeof(*loads))), most = 0, total = 0;
    int *owner = unit_need(malloc(FILES * sizeof(*owner)));

    for (int i = 0; i < FILES; i++)
        total += sizes[i] = any(1 << 20);
    CHECK(deal_files(owner, sizes, FILES, RANKS, false));
    for (int i = 0; i < FILES; i++) {
        if (!CHECK(owner[i] >= 0 && owner[i] < RANKS))
            break;
        loads[owner[i]] += sizes[i];
        if (most < loads[owner[i]])
            most = loads[owner[i]];
    }
    /* No rank has more than a twentieth above the mean, which is 5 MiB. */
    CHECK(most < total / RANKS + total / RANKS / 20);
    free(sizes);
    free(loads);
    free(owner);
}

int main(void)
{
    RUN(test_as_by_definition);
    RUN(test_all_together);
    RUN(test_many);
    return unit_done();
}
