/*
 * range.c - the arguments of --range and --lines (range.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/range.h"

/* Reads the number in [text, stop).  Sets *is_negative to whether it has a minus sign.  If
 * is_negative is NULL, allows neither a sign nor a unit (K, M, G). */
static bool parse_size(const char *text, const char *stop, bool *is_negative, uint64_t *value)
{
    static const char units[] = "KMG";
    const char *unit;
    char *end;
    unsigned shift = 0;

    if (is_negative != NULL) {
        *is_negative = *text == '-';
        text += *is_negative;
    }
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    unit = is_negative != NULL ? memchr(units, *end & ~0x20, sizeof(units) - 1) : NULL;
    if (unit != NULL && end < stop) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
    }
    if (errno != 0 || end != stop || *value > (uint64_t)INT64_MAX >> shift)
        return false;
    *value <<= shift;
    return true;
}

bool range_parse(const char *text, bool is_lines, struct range *r)
{
    const char *colon = strchr(text, ':'), *end = text + strlen(text);
    bool length_is_negative = false;

    *r = (struct range){.is_lines = is_lines, .length = UINT64_MAX};
    if (colon == NULL)
        return false;
    if (colon > text && !parse_size(text, colon, is_lines ? NULL : &r->is_from_end, &r->from))
        return false;
    if (colon + 1 < end &&
        (!parse_size(colon + 1, end, is_lines ? NULL : &length_is_negative, &r->length) ||
         length_is_negative))
        return false;
    if (!is_lines)
        return true;
    if (colon > text && r->from == 0)
        return false; /* lines are counted from 1 */
    r->from -= colon > text;
    return true;
}
