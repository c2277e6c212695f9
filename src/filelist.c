/*
 * filelist.c - reads the names of operands from a file (filelist.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/filelist.h"

bool filelist_open(struct filelist *l, const char *path, bool is_null)
{
    *l = (struct filelist){.end = is_null ? '\0' : '\n'};
    l->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    return l->file != NULL;
}

enum filelist_step filelist_next(struct filelist *l)
{
    ssize_t length;

    do {
        length = getdelim(&l->name, &l->room, l->end, l->file);
        if (length < 0)
            return feof(l->file) ? FILELIST_END : FILELIST_ERROR;
        if (l->name[length - 1] == l->end)
            l->name[--length] = '\0';
    } while (length == 0);
    return strlen(l->name) == (size_t)length ? FILELIST_NAME : FILELIST_ZERO;
}

void filelist_close(struct filelist *l)
{
    if (l->file != NULL && l->file != stdin)
        fclose(l->file);
    free(l->name);
}
