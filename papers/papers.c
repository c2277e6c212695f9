/*
 * papers.c - the list of methods, and how --matcher selects one (papers.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/papers.h"

const struct paper_method *const paper_methods[] = {
#ifdef HAVE_PAPERS
#define PAPER_ENTRY(name) &paper_##name,
    PAPER_METHODS(PAPER_ENTRY)
#undef PAPER_ENTRY
#endif
        NULL,
};

void paper_use(const struct paper_method *method, struct lz_level *level)
{
    *level = (struct lz_level){
        .finder = method->finder,
        .split = level->split,
        .segment_default = level->segment_default,
        .core_guess = method->core_guess,
    };
    for (size_t i = 0; i < LZ_PARAMS && method->keys[i].name != NULL; i++)
        level->param[i] = method->keys[i].usual;
}

/* Whether text[0..len) equals word. */
static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(text, word, len) == 0;
}

/* Returns the method with the name text[0..len), or NULL. */
static const struct paper_method *method_called(const char *text, size_t len)
{
    for (size_t i = 0; paper_methods[i] != NULL; i++)
        if (is_word(text, len, paper_methods[i]->name))
            return paper_methods[i];
    return NULL;
}

/* Reads a decimal number. Returns false if text[0..len) is empty, has a character that is not a
 * digit, or is above UINT32_MAX. */
static bool parse_number(const char *text, size_t len, uint32_t *value)
{
    uint64_t number = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9' || number > UINT32_MAX / 10)
            return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    *value = (uint32_t)number;
    return len > 0 && number <= UINT32_MAX;
}

/* Reads a key's value from text[0..len). If the key cannot have this value, returns false, and sets
 * `error` to a message with the possible values. */
static bool parse_value(const struct paper_key *key, const char *text, size_t len, uint32_t *value,
                        char error[PAPER_ERROR_SIZE])
{
    int used;

    if (key->words == NULL) {
        *value = key->most + 1;
        if (key->word != NULL && is_word(text, len, key->word))
            return true;
        if (parse_number(text, len, value) && *value >= key->least && *value <= key->most &&
            (!key->is_power || (*value & (*value - 1)) == 0))
            return true;
        snprintf(error, PAPER_ERROR_SIZE, "give %.32s %s%u to %u%s%.32s", key->name,
                 key->is_power ? "a power of two, " : "", key->least, key->most,
                 key->word != NULL ? " or " : "", key->word != NULL ? key->word : "");
        return false;
    }
    for (*value = 0; key->words[*value] != NULL; ++*value)
        if (is_word(text, len, key->words[*value]))
            return true;
    used = snprintf(error, PAPER_ERROR_SIZE, "give %.32s one of:", key->name);
    for (size_t i = 0; key->words[i] != NULL && used < PAPER_ERROR_SIZE; i++)
        used += snprintf(error + used, PAPER_ERROR_SIZE - (size_t)used, " %.32s", key->words[i]);
    return false;
}

/* Reads one KEY=VALUE, text[0..len), into the level. `given` has a bit for each key given so
 * far. */
static bool parse_key(const struct paper_method *method, const char *text, size_t len,
                      struct lz_level *level, uint32_t *given, char error[PAPER_ERROR_SIZE])
{
    const char *sign = memchr(text, '=', len);
    const size_t name_len = sign != NULL ? (size_t)(sign - text) : len;
    size_t i = 0;

    while (method->keys[i].name != NULL && !is_word(text, name_len, method->keys[i].name))
        i++;
    if (method->keys[i].name == NULL) {
        snprintf(error, PAPER_ERROR_SIZE, "%.32s has no key '%.*s'", method->name,
                 (int)(name_len < 64 ? name_len : 64), text);
        return false;
    }
    if ((*given >> i & 1) != 0) {
        snprintf(error, PAPER_ERROR_SIZE, "%.32s is given twice", method->keys[i].name);
        return false;
    }
    *given |= 1U << i;
    return parse_value(&method->keys[i], text + name_len + (sign != NULL),
                       len - name_len - (sign != NULL), &level->param[i], error);
}

bool paper_set(const struct paper_method *method, const char *text, struct lz_level *level,
               char error[PAPER_ERROR_SIZE])
{
    uint32_t given = 0;

    for (;;) {
        const size_t len = strcspn(text, ",");

        if (!parse_key(method, text, len, level, &given, error))
            return false;
        if (text[len] == '\0')
            return true;
        text += len + 1;
    }
}

bool paper_parse(const char *text, struct lz_level *level, char error[PAPER_ERROR_SIZE])
{
    const size_t len = strcspn(text, ",");
    const struct paper_method *method = method_called(text, len);
    struct lz_level made = *level;

    if (paper_methods[0] == NULL) {
        snprintf(error, PAPER_ERROR_SIZE,
                 "this gzlzss was built without the papers' match finders");
        return false;
    }
    if (method == NULL) {
        snprintf(error, PAPER_ERROR_SIZE, "there is no match finder '%.*s'",
                 (int)(len < 64 ? len : 64), text);
        return false;
    }
    paper_use(method, &made);
    if (text[len] == ',' && !paper_set(method, text + len + 1, &made, error))
        return false;
    *level = made;
    return true;
}
