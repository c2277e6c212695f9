/*
 * option_help.c - prints --help, --license and --matcher=help (options.h)
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "papers/papers.h"
#include "src/option_rows.h"
#include "src/peers.h"

/* Prints an option's line of --help.  letter 0: the option has no letter.  name NULL: it has no
 * long name. */
static void print_option(int letter, const char *name, const char *argument, const char *help)
{
    char both[64] = "";

    if (name != NULL)
        snprintf(both, sizeof(both), "--%s%s%s", name, argument != NULL ? "=" : "",
                 argument != NULL ? argument : "");
    if (letter != 0)
        printf("  -%c%c %-20s %s\n", letter, name != NULL ? ',' : ' ', both, help);
    else
        printf("      %-20s %s\n", both, help);
}

/* Whether the program's name implies this option. */
static bool implies(const struct peer *peer, const char *option)
{
    return peer != NULL && peer->implies != NULL && strcmp(peer->implies, option) == 0;
}

/* Prints what the program does when called by this name. */
static void print_purpose(const char *program, const struct peer *peer)
{
    const bool is_bgzf = implies(peer, "format=bgzf");

    if (peers_is_cat(program))
        printf(
            "Decompress FILEs in gzip's format to standard output, on all cores.\n"
            "\nWhat to do (by default, decompress each FILE to standard output, and keep it):\n");
    else if (peers_decompresses(program))
        printf("Decompress FILEs in gzip's format on all cores.\n"
               "\nWhat to do (by default, decompress each FILE.gz to FILE and remove FILE.gz):\n");
    else
        printf("Compress FILEs to %s on all cores, and on NVIDIA GPUs where they\n"
               "help, or decompress them.\n"
               "\nWhat to do (by default, compress each FILE to FILE.gz and %s FILE):\n",
               is_bgzf ? "BGZF" : "gzip's format", implies(peer, "keep") ? "keep" : "remove");
}

/* Prints a heading, and the peer's options of one kind, by their letters if they have letters.
 * Prints nothing if the peer has no options of this kind. */
static void print_kind_of_peer(const struct peer *peer, enum peer_kind kind, const char *heading)
{
    bool has_any = false;

    for (size_t i = 0; i < peer->count; i++) {
        const struct peer_option *p = &peer->options[i];

        if (p->kind != kind)
            continue;
        if (!has_any)
            printf("  %-24s", heading);
        has_any = true;
        if (p->letter != 0)
            printf(" -%c", p->letter);
        else
            printf(" --%s", p->name);
    }
    if (has_any)
        putchar('\n');
}

/* Prints the options that have the peer's meaning, and the peer's options that gzlzss ignores or
 * refuses. */
static void print_options_of_peer(const struct peer *peer)
{
    bool has_any = false;

    for (size_t i = 0; i < peer->count; i++) {
        const struct peer_option *p = &peer->options[i];

        if (p->kind != PEER_MEANS)
            continue;
        if (!has_any)
            printf("\nAs in %s:\n", peer->names[0]);
        has_any = true;
        print_option(p->letter, p->name, p->argument, p->what);
    }
    print_kind_of_peer(peer, PEER_IGNORED, "ignored:");
    print_kind_of_peer(peer, PEER_REFUSED, "not supported:");
}

void options_list_for_mpi(void)
{
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *r = &option_rows[i];

        if (r->in_mpi != NULL)
            print_option(r->id < 256 ? r->id : 0, r->name, r->argument,
                         r->in_mpi[0] != '\0' ? r->in_mpi : r->help);
    }
}

void options_help(const char *program)
{
    const struct peer *peer = peers_find(program);
    const bool has_variable = peer != NULL && peer->variable != NULL;

    printf("Usage: %s [OPTION]... [FILE]...\n", program);
    print_purpose(program, peer);
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *r = &option_rows[i];
        const bool has_letter = r->id < 256 && peers_letter(peer, r->id) == NULL;

        if (r->help == NULL || (r->id != 0 && r->name == NULL && !has_letter))
            continue;
        if (r->id == 0)
            printf("\n%s\n", r->help);
        else
            print_option(has_letter ? r->id : 0, r->name, r->argument, r->help);
    }
    if (peer != NULL)
        print_options_of_peer(peer);
    printf("\nWith no FILE, or when FILE is -, read standard input.  The environment variable%s\n"
           "%s%sGZLZSS may hold options.\n",
           has_variable ? "s" : "", has_variable ? peer->variable : "",
           has_variable ? " and " : "");
}

/* Prints the values that a method's parameter may have. */
static void print_values(const struct paper_key *key)
{
    if (key->words == NULL) {
        printf("%s%u to %u", key->is_power ? "powers of two from " : "", key->least, key->most);
        if (key->word != NULL)
            printf(" or %s", key->word);
        return;
    }
    for (size_t i = 0; key->words[i] != NULL; i++)
        printf("%s%s", i > 0 ? " or " : "", key->words[i]);
}

void options_matchers(void)
{
    if (paper_methods[0] == NULL) {
        printf("This gzlzss was built without the papers' match finders.\n");
        return;
    }
    printf("--matcher=NAME[,KEY=VALUE]... finds matches as a paper does, in place of the level's\n"
           "way.  Keys are shown with the values that they have by default, and in brackets whose\n"
           "the key or the value is, if not the paper's (ours means gzlzss's).  The limits of\n"
           "values are gzlzss's, too.\n");
    for (size_t i = 0; paper_methods[i] != NULL; i++) {
        const struct paper_method *p = paper_methods[i];

        printf("\n%s: %s\n  (%s)\n", p->name, p->summary, p->source);
        for (const struct paper_key *key = p->keys; key->name != NULL; key++) {
            char usual[64];

            if (key->words == NULL)
                snprintf(usual, sizeof(usual), "%s=%u", key->name, key->usual);
            else
                snprintf(usual, sizeof(usual), "%s=%s", key->name, key->words[key->usual]);
            printf("    %-18s %s", usual, key->help);
            if (key->origin != NULL)
                printf(" [%s]", key->origin);
            printf("; ");
            print_values(key);
            putchar('\n');
        }
    }
}

void options_license(void)
{
    printf("%s\n"
           "Copyright (C) 2026 the gzlzss authors\n"
           "This is free software under the MIT License: you may use, copy, modify and\n"
           "redistribute it.  There is NO WARRANTY, to the extent permitted by law.\n",
           PACKAGE_STRING);
}
