/*
 * test_names.c - names of compressed files: suffixes, their replacements, and names that are too
 * long
 */
#include "config.h"

#include <string.h>

#include "src/names.h"
#include "tests/unit/unit.h"

static bool is(const char *got, const char *want)
{
    if (got == want || (got != NULL && want != NULL && strcmp(got, want) == 0))
        return true;
    printf("# \"%s\", not \"%s\"\n", got != NULL ? got : "(none)", want != NULL ? want : "(none)");
    return false;
}

/* Tests which suffix a name has. */
static void suffixes(void)
{
    static const struct {
        const char *name, *own, *suffix;
    } cases[] = {
        {"f.gz", ".gz", ".gz"},
        {"f.GZ", ".gz", ".GZ"},
        {"d.gz/f.z", ".gz", ".z"},
        {"f.Z", ".gz", ".Z"},
        {"f.taz", ".gz", ".taz"},
        {"f.tgz", ".gz", ".tgz"},
        {"f-gz", ".gz", "-gz"},
        {"f-z", ".gz", "-z"},
        {"f_z", ".gz", "_z"},
        {"f.gz.gz", ".gz", ".gz"},
        /* Names without a suffix. */
        {"f", ".gz", NULL},
        {"", ".gz", NULL},
        {"f.gz ", ".gz", NULL},
        {"fgz", ".gz", NULL},
        {"f_gz", ".gz", NULL},
        {"d.gz/f", ".gz", NULL},
        {"f.gz/", ".gz", NULL},
        {"f.tar", ".gz", NULL},
        /* Names that are only a suffix. */
        {".gz", ".gz", NULL},
        {"d/.gz", ".gz", NULL},
        {"d/-z", ".gz", NULL},
        /* The user's suffix, in any letter case, besides the known ones. */
        {"f.xyz", ".xyz", ".xyz"},
        {"f.XyZ", ".xyz", ".XyZ"},
        {"f.gz", ".xyz", ".gz"},
        {"f.xyz", ".gz", NULL},
        {"f.a.gz", ".a.gz", ".a.gz"},
        {"f.gz.a", ".a", ".a"},
        /* The user's suffix is the end of a known suffix.  The known suffix comes first, except if
         * the letter case differs. */
        {"f.gz", "gz", ".gz"},
        {"fgz", "gz", "gz"},
        {"f.gz", "z", ".gz"},
        {"fz", "z", "z"},
        {"f.gz", "GZ", "gz"},
        {"f.tgz", "gz", ".tgz"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *got = names_suffix(cases[i].name, cases[i].own);

        if (!CHECK(is(got, cases[i].suffix)))
            printf("# %s with -S %s\n", cases[i].name, cases[i].own);
        /* The result points into the name, at its end. */
        if (got != NULL)
            CHECK(got + strlen(got) == cases[i].name + strlen(cases[i].name));
    }
}

static void decompressed(void)
{
    static const struct {
        const char *name, *own, *result;
    } cases[] = {
        {"f.gz", ".gz", "f"},      {"d.gz/f.tar.gz", ".gz", "d.gz/f.tar"},
        {"f.tgz", ".gz", "f.tar"}, {"f.TGZ", ".gz", "f.tar"},
        {"f.taz", ".gz", "f.tar"}, {"f.tgz.gz", ".gz", "f.tgz"},
        {"a-z", ".gz", "a"},       {"f.tgz", ".tgz", "f.tar"},
        {"f.xgz", ".xgz", "f"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *suffix = names_suffix(cases[i].name, cases[i].own);
        char *got;

        if (!CHECK(suffix != NULL))
            continue;
        got = unit_need(
            names_join(cases[i].name, (size_t)(suffix - cases[i].name), names_replacement(suffix)));
        CHECK(is(got, cases[i].result));
        free(got);
    }
}

/* Tests the suffixes that are tried with a name, of which the user's suffix is the first. */
static void guesses(void)
{
    static const char *const known[] = {".gz", ".z", "-z", ".Z"};

    CHECK(is(names_guess(0, ".own"), ".own"));
    for (int i = 0; i < 4; i++)
        CHECK(is(names_guess(1 + i, ".own"), known[i]));
    CHECK(names_guess(5, ".own") == NULL);
}

/* The suffix ".zz" counts only for decompression. */
static void zlib_suffix(void)
{
    CHECK(names_suffix("f.zz", ".gz") == NULL);
    CHECK(is(names_packed_suffix("d.zz/f.ZZ", ".gz"), ".ZZ"));
    CHECK(is(names_packed_suffix("f.gz", ".gz"), ".gz"));
    CHECK(names_packed_suffix("d/.zz", ".gz") == NULL);
    CHECK(names_are_zlib("f.zz") && !names_are_zlib("f.z") && !names_are_zlib("d.zz/f"));
}

static void pieces(void)
{
    char *s = unit_need(names_join("abc", 2, ".gz"));

    CHECK(is(s, "ab.gz"));
    free(s);
    s = unit_need(names_join("", 0, ""));
    CHECK(is(s, ""));
    free(s);
    CHECK(is(names_base("a/b/c"), "c"));
    CHECK(is(names_base("c"), "c"));
    CHECK(is(names_base("a/"), ""));
    CHECK(is(names_base("/"), ""));
}

/* Shortens a name again and again, and checks that `want` lists the results, with blanks between
 * them. */
static void check_shorter(const char *name, const char *own, const char *want)
{
    char s[100], all[400] = "";

    snprintf(s, sizeof(s), "%s", name);
    while (names_shorten(s, own)) {
        strcat(all, all[0] != '\0' ? " " : "");
        strcat(all, s);
        if (!CHECK(strlen(all) < 300))
            return;
    }
    if (!CHECK(is(all, want)))
        printf("# from %s\n", name);
}

static void shorter(void)
{
    /* The last part with more than three bytes loses one byte.  If no part has more than three, the
     * last part with more than two bytes loses one, and so on. */
    check_shorter("abcd.c.gz", ".gz", "abc.c.gz ab.c.gz a.c.gz a.gz");
    check_shorter("abc.defg.gz", ".gz", "abc.def.gz abc.de.gz ab.de.gz ab.d.gz a.d.gz a.gz");
    check_shorter("abcd.efg.gz", ".gz", "abc.efg.gz abc.ef.gz ab.ef.gz ab.e.gz a.e.gz a.gz");
    check_shorter("dir/abc.gz", ".gz", "dir/ab.gz dir/a.gz");
    /* ".tar.gz" first becomes ".tgz". */
    check_shorter("ab.tar.gz", ".gz", "ab.tgz a.gz");
    check_shorter(".tar.gz", ".gz", ".ta.gz .t.gz");
    /* A name without a suffix loses its last byte. */
    check_shorter("abc", NULL, "ab a");
    check_shorter("d/ab.c", NULL, "d/ab. d/ab d/a");
    /* A suffix alone stays as it is. */
    check_shorter(".gz", ".gz", "");
    check_shorter("abc", ".gz", "");
    check_shorter("", NULL, "");
}

/* Two names have the same hash if one may be the other's output. */
static void hashes(void)
{
    static const char *const meet[][2] = {
        {"f", "f.gz"},        {"f.gz", "f.z"},        {"f", "F.GZ"},   {"f.tgz", "f.tar"},
        {"f.tgz", "f.tar.z"}, {"f.gz.gz", "f"},       {"f", "f.own"},  {"f.taz", "f"},
        {"f.own.gz", "f.z"},  {"f.tar.own", "f.tgz"}, {"a-gz", "a_z"},
    };
    static const char *const apart[] = {"f",   "g",  "ff",  "f.", "f.gzx",
                                        "f.a", "gz", ".gz", "f-", "tar"};

    for (size_t i = 0; i < sizeof(meet) / sizeof(*meet); i++)
        if (!CHECK(names_hash(meet[i][0], ".own") == names_hash(meet[i][1], ".own")))
            printf("# %s and %s\n", meet[i][0], meet[i][1]);
    for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++)
        for (size_t j = 0; j < i; j++)
            if (!CHECK(names_hash(apart[i], ".gz") != names_hash(apart[j], ".gz")))
                printf("# %s and %s\n", apart[i], apart[j]);
    /* ".own" is a suffix only if the user has chosen it. */
    CHECK(names_hash("f.own", ".gz") != names_hash("f", ".gz"));
}

int main(void)
{
    RUN(suffixes);
    RUN(decompressed);
    RUN(guesses);
    RUN(zlib_suffix);
    RUN(pieces);
    RUN(shorter);
    RUN(hashes);
    return unit_done();
}
