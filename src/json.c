/*
 * json.c - writes JSON objects (json.h)
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/json.h"
#include "src/utf8.h"

/* Writes the text as a JSON string. */
static void put_string(FILE *to, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    putc('"', to);
    while (*s != '\0') {
        const size_t length = utf8_length(s);

        if (length == 0)
            fprintf(to, "\\udc%02x", *s);
        else if (utf8_is_control(s)) /* a terminal must not get U+007F to U+009F either */
            fprintf(to, "\\u%04x", length == 1 ? s[0] : s[1]);
        else if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else
            fwrite(s, 1, length, to);
        s += length == 0 ? 1 : length;
    }
    putc('"', to);
}

/* Begins a member.  Before the first member, also begins the object.  False if memory is short. */
static bool begin(struct json *j, const char *name)
{
    const bool is_first = j->file == NULL;

    if (is_first && !j->failed)
        j->file = open_memstream(&j->text, &j->size);
    j->failed = j->file == NULL;
    if (j->failed)
        return false;
    putc(is_first ? '{' : ',', j->file);
    put_string(j->file, name);
    putc(':', j->file);
    return true;
}

void json_string(struct json *j, const char *name, const char *value)
{
    if (value != NULL && begin(j, name))
        put_string(j->file, value);
}

void json_bool(struct json *j, const char *name, bool value)
{
    if (begin(j, name))
        fputs(value ? "true" : "false", j->file);
}

void json_integer(struct json *j, const char *name, uint64_t value)
{
    if (begin(j, name))
        fprintf(j->file, "%" PRIu64, value);
}

void json_decimal(struct json *j, const char *name, double value, int digits)
{
    /* The command never calls setlocale, so the decimal point is a full stop. */
    if (begin(j, name))
        fprintf(j->file, "%.*f", digits, value);
}

char *json_end(struct json *j)
{
    bool ok;

    if (j->file == NULL)
        return NULL;
    putc('}', j->file);
    ok = !ferror(j->file);
    ok = fclose(j->file) == 0 && ok;
    j->file = NULL;
    if (ok)
        return j->text;
    free(j->text);
    return NULL;
}
