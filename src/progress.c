/*
 * progress.c - one line on standard error that shows how far the work is (progress.h)
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "src/progress.h"

/* Times in seconds.  INTERVAL: between two drawings of the line.  INTERVAL_AFTER_MESSAGE: between
 * two drawings if a message has replaced the line.  PATIENCE: before the first drawing with -v;
 * with --progress, the first drawing comes after INTERVAL. */
#define INTERVAL 0.2
#define INTERVAL_AFTER_MESSAGE 0.05
#define PATIENCE 2.0

/* progress_end waits up to this many milliseconds for a stopped terminal before it gives up
 * removing the line. */
#define PATIENCE_AT_END 100

/* The line's width in columns if the terminal does not tell its own, and the largest width. */
#define WIDTH_DEFAULT 80
#define WIDTH_MAX 200

/* The longest remaining time that the line shows: a thousand hours. */
#define SECONDS_MAX 3600000u

/* A name gets at least this many columns.  If the line is then too long, its end is cut. */
#define NAME_MIN 12

/* The most bytes of a UTF-8 character, of the figures (the whole line but the name), and of a
 * line. */
#define CHARACTER_MAX 4
#define FIGURES_MAX 256
#define LINE_MAX_BYTES (CHARACTER_MAX * WIDTH_MAX + FIGURES_MAX + 8)

/* Formats a size in the unit that suits it: "512 B", "1.5 MiB". */
static void format_size(char text[32], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

/* --- Names --- */

/* Whether a terminal may give the character two columns, as for East Asian scripts and emoji.  The
 * ranges include a few symbols that get one column, because a name that is cut too early does less
 * harm than a line that is too long. */
static bool is_wide(uint32_t c)
{
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2300 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
           (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
           (c >= 0x20000 && c <= 0x3fffd);
}

/* Returns the length in bytes of the character at s; 1 if the bytes at s are not UTF-8.  Sets
 * *columns to the character's width in columns, or to 0 if the character cannot be printed.
 * Combining characters count as 1. */
static size_t read_character(const char *s, size_t *columns)
{
    const unsigned char first = (unsigned char)*s;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    uint32_t c = length == 1 ? first : first & (0x7fu >> length);
    size_t i;

    for (i = 1; i < length && ((unsigned char)s[i] & 0xc0) == 0x80; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    if (i < length)
        c = first;
    *columns = c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : is_wide(c) ? 2 : 1;
    return i < length ? 1 : length;
}

/* Copies the name into `text`, which has CHARACTER_MAX * WIDTH_MAX + 1 bytes.  If the name is wider
 * than `most` columns, copies dots and the end of the name.  A question mark replaces each
 * character that cannot be printed.  Returns the width in columns. */
static size_t fit_name(char *text, const char *name, size_t most)
{
    size_t columns = 0, of_one;

    for (const char *s = name; *s != '\0';) {
        s += read_character(s, &of_one);
        columns += of_one > 0 ? of_one : 1;
    }
    if (columns > most) {
        const size_t dots = most > 3 ? 3 : 0;

        while (columns + dots > most) {
            name += read_character(name, &of_one);
            columns -= of_one > 0 ? of_one : 1;
        }
        memcpy(text, "...", dots);
        text += dots;
        columns += dots;
    }
    while (*name != '\0') {
        const size_t length = read_character(name, &of_one);

        if (of_one > 0)
            memcpy(text, name, length);
        else
            *text = '?';
        text += of_one > 0 ? length : 1;
        name += length;
    }
    *text = '\0';
    return columns;
}

/* --- The line --- */

/* How many columns a line may fill.  The last column stays free, since some terminals move to the
 * next line once it is filled. */
static size_t terminal_columns(void)
{
    struct winsize size;
    size_t width = WIDTH_DEFAULT;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        width = size.ws_col;
    return (width < WIDTH_MAX ? width : WIDTH_MAX) - 1;
}

/* Formats the line without the name, `elapsed` seconds after the start.  is_short: leaves out the
 * ratio and the engine. */
static void format_figures(char text[FIGURES_MAX], const struct progress *p, double elapsed,
                           const char *engine, bool is_short)
{
    const bool is_one = p->found <= 1;
    const uint64_t in = p->in, out = p->out, passed = p->passed;
    const uint64_t total = is_one ? p->name_total : p->total;
    const uint64_t original = p->expanding ? out : in, packed = p->expanding ? in : out;
    const double saved = original == 0 ? 0 : 100.0 * (1.0 - (double)packed / (double)original);
    char files[64] = "", done[32], rate[32], part[32] = "", ratio[32] = "", left[32] = "";

    format_size(done, (double)in);
    format_size(rate, (double)in / elapsed);
    if (!is_one)
        snprintf(files, sizeof(files), "%lu of %lu files", p->done, p->found);
    if (total > 0 && in > 0) {
        const double bytes = passed < total ? (double)(total - passed) : 0;
        const double time = bytes * elapsed / (double)in;
        const unsigned seconds = time < SECONDS_MAX ? (unsigned)time : SECONDS_MAX;

        snprintf(part, sizeof(part), "%s%.0f%%", is_one ? " " : "  ",
                 100.0 * (double)passed / (double)total);
        snprintf(left, sizeof(left), "  %u:%02u left", seconds / 60, seconds % 60);
    }
    if (!is_short)
        snprintf(ratio, sizeof(ratio), "  ratio %.1f%%", saved);
    snprintf(text, FIGURES_MAX, "%s%s  %s  %s/s%s%s%s%.20s", files, part, done, rate, ratio, left,
             is_short || engine[0] == '\0' ? "" : "  ", is_short ? "" : engine);
}

/* Formats the line, `elapsed` seconds after the start.  Called with p->lock held.  Returns the
 * line's width in columns. */
static size_t compose(char line[LINE_MAX_BYTES], const struct progress *p, double elapsed,
                      const char *engine)
{
    const bool is_one = p->found <= 1;
    char figures[FIGURES_MAX], name[CHARACTER_MAX * WIDTH_MAX + 1] = "";
    const size_t room = terminal_columns();
    size_t width, of_figures, of_name = 0;

    format_figures(figures, p, elapsed, engine, false);
    if (strlen(figures) + NAME_MIN > room)
        format_figures(figures, p, elapsed, engine, true);
    of_figures = strlen(figures) + (is_one ? 1 : 2);
    if (p->name != NULL && (is_one || of_figures + NAME_MIN <= room)) {
        const size_t least = NAME_MIN < room ? NAME_MIN : room;

        of_name = fit_name(name, p->name, of_figures + least < room ? room - of_figures : least);
    }
    if (is_one)
        snprintf(line, LINE_MAX_BYTES, "%s:%s", name, figures);
    else
        snprintf(line, LINE_MAX_BYTES, "%s%s%s", figures, of_name > 0 ? "  " : "", name);
    /* Cut the end of a line that is too long.  The end has only figures, whose bytes take one
     * column each. */
    width = of_name + strlen(line) - strlen(name);
    if (width > room) {
        line[strlen(line) - (width - room)] = '\0';
        width = room;
    }
    return width;
}

/* --- The terminal --- */

/* Opens standard error once more, for writing without waiting.  O_NONBLOCK on descriptor 2 itself
 * would affect all processes that share the descriptor, such as others of the same shell.  Returns
 * descriptor 2 if standard error is neither a terminal nor a pipe, or cannot be opened. */
static int open_again(void)
{
    struct stat st;
    int fd = -1;

    if (isatty(STDERR_FILENO) || (fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode)))
        fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 ? fd : STDERR_FILENO;
}

/* Waits up to `milliseconds` until the terminal takes data, then writes as much of the text as it
 * takes.  Returns the bytes written; less than 1 if there is no room. */
static ssize_t write_at_once(const struct progress *p, const char *text, int milliseconds)
{
    struct pollfd terminal = {.fd = p->fd, .events = POLLOUT};

    return poll(&terminal, 1, milliseconds) > 0 ? write(p->fd, text, strlen(text)) : 0;
}

/* Draws the line if enough time has passed and no other thread prints. */
static void draw(struct progress *p, const char *engine)
{
    char line[LINE_MAX_BYTES], text[LINE_MAX_BYTES + WIDTH_MAX + 1];
    double t, elapsed;
    ssize_t written;
    size_t width;

    if (pthread_mutex_trylock(&p->line_lock) != 0)
        return;
    t = clock_seconds();
    elapsed = t - p->start;
    if (elapsed >= p->delay &&
        t - p->shown >= (p->width == 0 ? INTERVAL_AFTER_MESSAGE : INTERVAL)) {
        pthread_mutex_lock(&p->lock);
        width = compose(line, p, elapsed, engine);
        pthread_mutex_unlock(&p->lock);
        snprintf(text, sizeof(text), "\r%s%*s", line,
                 (int)(p->width > width ? p->width - width : 0), "");
        p->shown = t;
        written = write_at_once(p, text, 0);
        /* If the new line was only partly written, the rest of the old line may still be there. */
        if (written == (ssize_t)strlen(text) || (written > 0 && p->width < width))
            p->width = width;
    }
    pthread_mutex_unlock(&p->line_lock);
}

/* Whether progress is shown at all. */
static bool is_shown(const struct progress *p)
{
    return p != NULL && p->is_wanted;
}

/* Removes the line.  Called with line_lock held.  Returns whether there was a line. */
static bool erase(struct progress *p)
{
    if (p->width == 0)
        return false;
    fprintf(stderr, "\r%*s\r", (int)p->width, "");
    p->width = 0;
    return true;
}

bool progress_erase(struct progress *p)
{
    bool was_there;

    if (!is_shown(p))
        return false;
    pthread_mutex_lock(&p->line_lock);
    was_there = erase(p);
    pthread_mutex_unlock(&p->line_lock);
    return was_there;
}

void progress_pause(struct progress *p)
{
    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->line_lock);
    erase(p);
}

void progress_resume(struct progress *p)
{
    if (is_shown(p))
        pthread_mutex_unlock(&p->line_lock);
}

/* --- What is shown --- */

/* The bytes of all operands; 0: not known. */
static uint64_t operands_total(const struct progress_run *run)
{
    uint64_t total = 0;
    struct stat st;

    for (int i = 0; i < run->name_count; i++) {
        /* If this operand does not exist, the run may work on a file that has this name and a
         * suffix.  That file's size is not known here. */
        if (stat(run->names[i], &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
            (S_ISDIR(st.st_mode) && run->recursive))
            return 0;
        if (S_ISREG(st.st_mode))
            total += (uint64_t)st.st_size;
    }
    return total;
}

void progress_start(struct progress *p, const struct progress_run *run)
{
    *p = (struct progress){0};
    if (!run->asked && (!run->verbose || !isatty(STDERR_FILENO)))
        return;
    /* Output that goes to a terminal must not mix with the line. */
    if (run->to_stdout && isatty(STDOUT_FILENO))
        return;
    *p = (struct progress){
        .is_wanted = true,
        .expanding = run->expanding,
        .delay = run->asked ? INTERVAL : PATIENCE,
        .start = clock_seconds(),
        .line_lock = PTHREAD_MUTEX_INITIALIZER,
        .fd = open_again(),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .found = run->name_count == 0 ? 1 : (unsigned long)run->name_count,
        .total = run->name_count > 1 ? operands_total(run) : 0,
    };
}

void progress_end(struct progress *p)
{
    char text[WIDTH_MAX + 3];

    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->line_lock);
    snprintf(text, sizeof(text), "\r%*s\r", (int)p->width, "");
    if (p->width > 0)
        write_at_once(p, text, PATIENCE_AT_END);
    p->width = 0;
    p->is_wanted = false;
    if (p->fd != STDERR_FILENO)
        close(p->fd);
    pthread_mutex_unlock(&p->line_lock);
}

void progress_found(struct progress *p, long files)
{
    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->lock);
    p->found += (unsigned long)files;
    pthread_mutex_unlock(&p->lock);
}

void progress_file(struct progress *p, const char *name, uint64_t total)
{
    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->lock);
    p->name = name;
    p->name_total = total;
    pthread_mutex_unlock(&p->lock);
}

void progress_update(struct progress *p, struct progress_part *part, uint64_t in, uint64_t out,
                     const char *engine)
{
    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->lock);
    p->in += in - part->in;
    p->passed += in - part->in;
    p->out += out - part->out;
    *part = (struct progress_part){in, out};
    pthread_mutex_unlock(&p->lock);
    draw(p, engine);
}

void progress_file_done(struct progress *p, const struct progress_part *part, uint64_t size,
                        uint64_t in, uint64_t out)
{
    bool is_one;

    if (!is_shown(p))
        return;
    pthread_mutex_lock(&p->lock);
    is_one = p->found <= 1;
    p->name = NULL;
    p->done++;
    p->passed += size - part->in;
    p->in += in - part->in;
    p->out += out - part->out;
    pthread_mutex_unlock(&p->lock);
    if (!is_one)
        draw(p, "");
}
