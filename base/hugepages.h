/*
 * hugepages.h - allocates memory in huge pages, if the system has some
 *
 * Huge pages save time twice: the system provides memory faster in huge pages than in small ones,
 * and pinning memory for a GPU takes time for each page.
 */
#ifndef GZLZSS_BASE_HUGEPAGES_H
#define GZLZSS_BASE_HUGEPAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Bytes of a huge page on x86-64, and on 64-bit ARM with small pages of 4 KiB. */
#define HUGE_PAGE ((size_t)2 << 20)

/* Allocates `size` bytes of memory that can be in huge pages (hugepages_ask).  The memory is not
 * zeroed.  Returns NULL if memory is short.  The caller frees the memory with free(). */
static inline uint8_t *hugepages_reserve(size_t size)
{
    return (uint8_t *)aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
}

/* Asks the system for as many huge pages as memory[0..size) has whole ones; the memory is from
 * hugepages_reserve.  Pages that are in use already stay small.  Without huge pages, nothing
 * changes. */
static inline void hugepages_ask(uint8_t *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_PAGE)
        (void)madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

/* Allocates at least `size` bytes of memory, in huge pages if the system has some, else in small
 * pages.  The memory is not zeroed.  Returns NULL if memory is short.  The caller frees the memory
 * with free(). */
static inline uint8_t *hugepages_alloc(size_t size)
{
    uint8_t *memory = hugepages_reserve(size);

    if (memory != NULL)
        hugepages_ask(memory, size + HUGE_PAGE - 1);
    return memory;
}

/* Like hugepages_alloc, for `count` times `size` bytes.  Returns NULL also if the product is too
 * large for a size_t. */
static inline uint8_t *hugepages_alloc_many(uint64_t count, size_t size)
{
    return count > (SIZE_MAX - HUGE_PAGE) / size ? NULL : hugepages_alloc((size_t)count * size);
}

#endif
