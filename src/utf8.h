/*
 * utf8.h - characters of UTF-8
 */
#ifndef GZLZSS_UTF8_H
#define GZLZSS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns how many bytes of valid UTF-8 make the first character of `s`; 0 if its first byte is not
 * part of valid UTF-8.  (RFC 3629, section 4.) */
static inline size_t utf8_length(const unsigned char *s)
{
    const size_t length = s[0] < 0x80   ? 1
                          : s[0] < 0xc2 ? 0
                          : s[0] < 0xe0 ? 2
                          : s[0] < 0xf0 ? 3
                          : s[0] < 0xf5 ? 4
                                        : 0;

    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* Reject overlong forms, surrogates, and characters above U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

/* Whether the first character of `s` is a control character: U+0000 to U+001F, or U+007F to
 * U+009F. */
static inline bool utf8_is_control(const unsigned char *s)
{
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0);
}

#endif
