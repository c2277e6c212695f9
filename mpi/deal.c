/*
 * deal.c - decides which rank works on which file (deal.h)
 *
 * The ranks are in a binary heap in an array, with the rank that has the least load on top.  To
 * deal out a file, add it to the top rank's load, and let that rank sink.
 */
#include "config.h"

#include <stdlib.h>

#include "mpi/deal.h"

/* Opening a file takes as much time as working on this many bytes.  With a larger number, small
 * files are spread more evenly by their number; with a smaller number, by their bytes. */
#define FILE_COST ((uint64_t)65536)

struct weighed {
    uint64_t size;
    size_t index;
};

struct load {
    uint64_t bytes;
    int rank;
};

/* The order for qsort: larger files first; files of the same size in the order of the operands. */
static int compare(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Whether rank a gets the next file before rank b. */
static bool comes_before(const struct load *a, const struct load *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->rank < b->rank;
}

/* Lets the top of the heap sink to its place. */
static void sink(struct load *heap, size_t count)
{
    const struct load top = heap[0];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < count) {
        if (child + 1 < count && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &top))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = top;
}

bool deal_files(int *owner, const uint64_t *sizes, size_t count, int ranks, bool all_together)
{
    struct weighed *files = calloc(count, sizeof(*files));
    struct load *heap = calloc((size_t)ranks, sizeof(*heap));
    const bool ok = files != NULL && heap != NULL;
    uint64_t total = 0;

    for (size_t i = 0; ok && i < count; i++) {
        total += sizes[i];
        files[i] = (struct weighed){sizes[i], i};
    }
    /* No rank has a load yet, so the ranks in their order are a heap. */
    for (int rank = 0; ok && rank < ranks; rank++)
        heap[rank].rank = rank;
    if (ok)
        qsort(files, count, sizeof(*files), compare);
    for (size_t i = 0; ok && i < count; i++) {
        const uint64_t size = files[i].size;

        if (ranks > 1 && (count == 1 || all_together || size > total / (uint64_t)ranks)) {
            owner[files[i].index] = DEAL_TO_ALL;
        } else {
            owner[files[i].index] = heap[0].rank;
            heap[0].bytes += size + FILE_COST;
            sink(heap, (size_t)ranks);
        }
    }
    free(files);
    free(heap);
    return ok;
}
