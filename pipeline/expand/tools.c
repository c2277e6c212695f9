/*
 * tools.c - a thread's memory for decompression (tools.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/tools.h"

void expand_free_tools(struct expand_tools *t)
{
    if (t == NULL)
        return;
    inf_close(t->raw);
    inf_symbols_free(t->symbols);
    inf_whole_free(t->whole);
    if (t->view.in != NULL)
        free(t->view.in - INF_BACK);
    free(t->scan);
    free(t);
}

struct expand_tools *tools_make(void)
{
    struct expand_tools *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->raw = inf_open(false);
    t->symbols = inf_symbols_new();
    t->whole = inf_whole_new();
    t->view.in = malloc(INF_BACK + VIEW_SIZE + VIEW_PAD);
    if (t->view.in != NULL) {
        memset(t->view.in, 0, INF_BACK);
        t->view.in += INF_BACK;
    }
    t->scan = malloc(SCAN_SIZE + VIEW_PAD);
    if (t->raw == NULL || t->symbols == NULL || t->whole == NULL || t->view.in == NULL ||
        t->scan == NULL) {
        expand_free_tools(t);
        return NULL;
    }
    return t;
}

void tools_give_back_pages(struct expand_tools *t)
{
    pages_give_back(t->view.in, t->view.in + VIEW_SIZE);
    pages_give_back(t->scan, t->scan + SCAN_SIZE);
}
