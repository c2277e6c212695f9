/*
 * tags.c - turns a tag array into sequences (tags.h)
 */
#include "config.h"

#include <string.h>

#include "lzss/emit.h"
#include "lzss/tags.h"

/* The end of the run of tags equal to `tag` that starts at tags[i]. */
static size_t run_end(const uint16_t *tags, size_t i, size_t len, uint16_t tag)
{
    /* Compare four tags at a time.  If one of four differs, the loop below finds it. */
    const uint64_t four = tag * 0x0001000100010001u;
    uint64_t v;

    while (i + 4 <= len) {
        memcpy(&v, tags + i, sizeof(v));
        if (v != four)
            break;
        i += 4;
    }
    while (i < len && tags[i] == tag)
        i++;
    return i;
}

size_t lz_tags_to_sequences(const uint16_t *tags, size_t len, struct lz_sequence *out)
{
    struct lz_sequence *start = out;
    size_t i = 0;

    while (i < len) {
        size_t match = tags[i] == 0 ? run_end(tags, i, len, 0) : i;
        size_t end;

        if (match == len)
            break;
        end = run_end(tags, match, len, tags[match]);
        out = lz_emit(out, match - i, end - match, tags[match]);
        i = end;
    }
    return (size_t)(out - start);
}
