/*
 * json.h - writes JSON objects, one on a line, for --json
 *
 * A JSON string consists of Unicode's characters, but a file's name may be any bytes.  A byte that
 * is not part of valid UTF-8 is written as the lone surrogate \udc80 to \udcff, as Python does
 * (PEP 383).  So no name is lost, and no two names become equal.
 */
#ifndef GZLZSS_JSON_H
#define GZLZSS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A JSON object, which is written into memory.  Zero it at first. */
struct json {
    FILE *file;  /* writes to `text`; NULL: nothing was added yet */
    char *text;  /* valid after json_end */
    size_t size; /* bytes of `text` */
    bool failed; /* memory was short */
};

/* These add a member to the object.  json_string leaves the member out if `value` is NULL. */
void json_string(struct json *j, const char *name, const char *value);
void json_bool(struct json *j, const char *name, bool value);
void json_integer(struct json *j, const char *name, uint64_t value);

/* Adds a number with `digits` digits after the decimal point, which is a full stop in any
 * locale. */
void json_decimal(struct json *j, const char *name, double value, int digits);

/* Ends the object, which must have a member, and returns its text without a newline, for the caller
 * to free.  NULL if memory was short. */
char *json_end(struct json *j);

#endif
