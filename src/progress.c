/*
 * progress.c - one line on standard error that tells how far the work is (progress.h)
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/progress.h"

/* Seconds between two lines, and before the first where nobody asked for it by --progress. */
#define INTERVAL 0.2
#define PATIENCE 2.0

/* Columns when the terminal does not say, and the most that are used. */
#define WIDTH_DEFAULT 80
#define WIDTH_MAX 200

/* "512 B", "1.5 MiB": a size in the unit that suits it. */
static void format_size(char *text, size_t room, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, room, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

void progress_start(struct progress *p, const struct options *o, const char *name, uint64_t total)
{
    *p = (struct progress){
        .name = name,
        .total = total,
        .expanding = o->action != ACTION_COMPRESS,
        .is_wanted = o->progress || (o->verbose > 0 && isatty(STDERR_FILENO)),
        .delay = o->progress ? INTERVAL : PATIENCE,
    };
    if (p->is_wanted)
        p->start = clock_seconds();
}

/* Columns that a line may fill; the last one stays free, so that no terminal goes to the next. */
static size_t columns(void)
{
    struct winsize size;
    size_t width = WIDTH_DEFAULT;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        width = size.ws_col;
    return (width < WIDTH_MAX ? width : WIDTH_MAX) - 1;
}

void progress_update(struct progress *p, uint64_t in, uint64_t out, const char *engine)
{
    char line[2 * WIDTH_MAX], done[32], rate[32], part[64] = "", left[64] = "";
    const uint64_t original = p->expanding ? out : in, packed = p->expanding ? in : out;
    size_t width, length;
    double t, elapsed;

    if (!p->is_wanted)
        return;
    t = clock_seconds();
    elapsed = t - p->start;
    if (elapsed < p->delay || t - p->shown < INTERVAL)
        return;
    p->shown = t;
    format_size(done, sizeof(done), (double)in);
    format_size(rate, sizeof(rate), (double)in / elapsed);
    if (p->total > 0 && in > 0) {
        double remaining = elapsed * ((double)p->total - (double)in) / (double)in;
        unsigned seconds = remaining > 0 ? (unsigned)remaining : 0;

        snprintf(part, sizeof(part), " %.0f%%", 100.0 * (double)in / (double)p->total);
        snprintf(left, sizeof(left), "  %u:%02u left", seconds / 60, seconds % 60);
    }
    width = columns();
    snprintf(line, sizeof(line), "%.60s:%s  %s  %s/s  ratio %.1f%%%s  %s", p->name, part, done,
             rate, original == 0 ? 0.0 : 100.0 * (1.0 - (double)packed / (double)original), left,
             engine);
    length = strlen(line) < width ? strlen(line) : width;
    fprintf(stderr, "\r%.*s%*s", (int)length, line,
            (int)(p->width > length ? p->width - length : 0), "");
    p->width = length;
}

bool progress_end(struct progress *p)
{
    const bool shown = p->width > 0;

    if (shown)
        fprintf(stderr, "\r%*s\r", (int)p->width, "");
    p->width = 0;
    return shown;
}
