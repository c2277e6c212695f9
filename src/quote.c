/*
 * quote.c - text for a terminal, without control characters (quote.h)
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/quote.h"
#include "src/utf8.h"

/* A text under way: to[0..size) has its first bytes, and a zero byte. */
struct text {
    char *to;
    size_t size;
    size_t length; /* of the whole text, which may be longer than `size` */
};

static void put(struct text *t, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++, t->length++)
        if (t->length + 1 < t->size)
            t->to[t->length] = bytes[i];
}

static void end(struct text *t)
{
    if (t->size > 0)
        t->to[t->length < t->size ? t->length : t->size - 1] = '\0';
}

/* --- Quotes --------------------------------------------------------------------------------- */

/* The number of bytes of the next character, which ends at s[length] at the latest.  Sets *is_bad
 * to whether they must not go to a terminal. */
static size_t next(const char *s, size_t length, bool *is_bad)
{
    unsigned char c[5] = {0};
    size_t n;

    memcpy(c, s, length < 4 ? length : 4);
    n = utf8_length(c);
    *is_bad = n == 0 || utf8_is_control(c);
    return n == 0 ? 1 : n;
}

bool quote_is_needed(const char *text, size_t length)
{
    bool is_bad = false;

    for (size_t i = 0; i < length && !is_bad;)
        i += next(text + i, length - i, &is_bad);
    return is_bad;
}

/* Puts a byte as it stands in $'...'. */
static void put_escaped(struct text *t, unsigned char byte)
{
    static const char letters[] = "abtnvfr"; /* of the bytes 7 to 13 */
    char escape[5];

    if (byte >= 7 && byte <= 13)
        snprintf(escape, sizeof(escape), "\\%c", letters[byte - 7]);
    else
        snprintf(escape, sizeof(escape), "\\%03o", byte);
    put(t, escape, strlen(escape));
}

/* Puts s[0..length), quoted if it needs that. */
static void put_quoted(struct text *t, const char *s, size_t length)
{
    bool was_bad = false, is_bad;

    if (!quote_is_needed(s, length)) {
        put(t, s, length);
        return;
    }
    put(t, "'", 1);
    for (size_t i = 0, n; i < length; i += n, was_bad = is_bad) {
        n = next(s + i, length - i, &is_bad);
        if (is_bad != was_bad)
            put(t, is_bad ? "'$'" : "''", is_bad ? 3 : 2);
        for (size_t k = 0; is_bad && k < n; k++)
            put_escaped(t, (unsigned char)s[i + k]);
        if (!is_bad && s[i] == '\'')
            put(t, "'\\''", 4);
        else if (!is_bad)
            put(t, s + i, n);
    }
    put(t, "'", 1);
}

const char *quote_for(int fd, const char *text, char **memory)
{
    const size_t length = strlen(text);
    struct text t = {0};

    *memory = NULL;
    if (!quote_is_needed(text, length) || !isatty(fd))
        return text;
    put_quoted(&t, text, length);
    t = (struct text){.to = malloc(t.length + 1), .size = t.length + 1};
    *memory = t.to;
    if (t.to == NULL)
        return NULL;
    put_quoted(&t, text, length);
    end(&t);
    return t.to;
}

/* --- Formats -------------------------------------------------------------------------------- */

/* A conversion, for example "%-5.2f". */
struct conversion {
    char text[16]; /* the conversion, for snprintf */
    bool is_own;   /* has the flag -, which says that a string is text of this program */
    int precision; /* the argument for *; -1 if there is none */
    char length;   /* l, L for ll, z or j; 0 if there is none */
    char letter;
};

/* Reads the conversion at `format`, after its %.  Returns its end. */
static const char *read_conversion(struct conversion *c, const char *format, va_list *args)
{
    static const char letters[] = "cdiuxfs%";
    const char *s = format;

    *c = (struct conversion){.precision = -1};
    for (; *s != '\0' && strchr(letters, *s) == NULL; s++) {
        c->is_own |= *s == '-';
        if (*s == '*')
            c->precision = va_arg(*args, int);
        if (*s == 'l' && c->length == 'l')
            c->length = 'L';
        else if (*s == 'l' || *s == 'z' || *s == 'j')
            c->length = *s;
    }
    c->letter = *s;
    snprintf(c->text, sizeof(c->text), "%%%.*s", (int)(s - format) + 1, format);
    return s + (*s != '\0');
}

/* Returns the next argument, an integer. */
static uint64_t take_integer(const struct conversion *c, va_list *args)
{
    const bool is_signed = c->letter == 'd' || c->letter == 'i';

    if (c->length == 'L' || c->length == 'j')
        return va_arg(*args, unsigned long long);
    if (c->length == 'l')
        return is_signed ? (uint64_t)va_arg(*args, long) : va_arg(*args, unsigned long);
    if (c->length == 'z')
        return va_arg(*args, size_t);
    return is_signed ? (uint64_t)va_arg(*args, int) : va_arg(*args, unsigned);
}

/* Puts an integer.  snprintf gets it as it would get the argument itself. */
static void put_integer(struct text *t, const struct conversion *c, uint64_t value)
{
    char digits[64];

    if (c->length == 'L' || c->length == 'j')
        snprintf(digits, sizeof(digits), c->text, (unsigned long long)value);
    else if (c->length == 'l' || c->length == 'z')
        snprintf(digits, sizeof(digits), c->text, (unsigned long)value);
    else
        snprintf(digits, sizeof(digits), c->text, (unsigned)value);
    put(t, digits, strlen(digits));
}

static void put_argument(struct text *t, const struct conversion *c, va_list *args)
{
    char digits[64];
    const char *s;
    char letter;

    switch (c->letter) {
    case '%':
        put(t, "%", 1);
        break;
    case 'c':
        letter = (char)va_arg(*args, int);
        put_quoted(t, &letter, 1);
        break;
    case 's':
        s = va_arg(*args, const char *);
        if (c->is_own || c->precision >= 0)
            put(t, s, c->precision >= 0 ? strnlen(s, (size_t)c->precision) : strlen(s));
        else
            put_quoted(t, s, strlen(s));
        break;
    case 'f':
        snprintf(digits, sizeof(digits), c->text, va_arg(*args, double));
        put(t, digits, strlen(digits));
        break;
    default:
        put_integer(t, c, take_integer(c, args));
        break;
    }
}

int quote_format(char *to, size_t size, const char *format, va_list args)
{
    struct text t = {.to = to, .size = size};
    struct conversion c;
    va_list copy;

    va_copy(copy, args);
    while (*format != '\0') {
        const size_t plain = strcspn(format, "%");

        put(&t, format, plain);
        format += plain;
        if (*format == '%') {
            format = read_conversion(&c, format + 1, &copy);
            put_argument(&t, &c, &copy);
        }
    }
    va_end(copy);
    end(&t);
    return (int)t.length;
}
