/*
 * judge.c - the rules that every run must obey (judge.h)
 *
 *  1. The run ends, by itself or by the signal that was sent.
 *  2. With status 0, everything is as without the fault: files, their modes and times, standard
 *     output, messages.  EINTR, short counts, EAGAIN of a descriptor that blocks, and the failure
 *     of calls that only save time give nothing but this.
 *  3. Otherwise standard error says why, in one line (more if calls fail for good) that begins with
 *     the program's name, has the system's words for the error, and names a file or a stream.
 *     Where memory is short, the line may be gzip's "memory exhausted", without a file.
 *  4. After a signal, nothing is said.
 *  5. An input is there, as it was, or it is gone and its output is complete.
 *  6. Under an output's name there is what was there before, or the complete output, or nothing.
 *     With --atomic, an old output is never gone.
 *  7. There are no other files.
 *  8. What was written to standard output is the beginning of what should be there.
 *  9. A failure of fsync with --synchronous, and of close for an output, is never ignored.
 *
 * Exceptions, which the manual tells:
 *
 *  - After SIGKILL, an output without --atomic may be partial (its input is there); with --atomic,
 *    a complete output may have a temporary name.
 *  - A partial output stays if unlinkat fails for good, or if the library has opened it.
 *  - mpirun gives a status of its own if a rank ends all ranks by a signal.
 *  - An index that cannot be read is ignored, with a message.  So is that a file without a name
 *    cannot be made for --atomic; a temporary name does as well.
 *
 * If another process changes the input (P is then its present data):
 *
 * 10. P is in the file, or is what the output decompresses to.
 * 11. An output is complete: it decompresses to the input before or after the change.
 * 12. A file that another process made under the output's name is left alone.
 *
 * One case breaks rule 10 in every program: the input changes after the program has looked at it
 * for the last time, just before it calls unlinkat, or while another thread is in that call.  No
 * system call removes a file only if it has not changed.  Such runs are counted (WINDOW).
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/faults/judge.h"

#define TEMPORARY ".gzlzss-"

/* A run, and what it is compared with. */
struct trial {
    const struct scenario *s;
    const struct normal *n;
    const struct fault *f;
    const struct result *r;
    int exit;            /* the exit status, or -1 */
    int signal;          /* the signal that ended the run, or 0 */
    const char *skip[2]; /* paths that rules 5 to 7 leave out, or NULL */
    const char *why;     /* the rule that was broken, or NULL */
};

static void broken(struct trial *t, const char *why)
{
    if (t->why == NULL)
        t->why = why;
}

static bool is_fault(const struct trial *t, const char *what)
{
    return strcmp(t->f->what, what) == 0;
}

/* --- Equal data ----------------------------------------------------------------------------- */

static bool same(const struct bytes *a, const struct bytes *b)
{
    return a == NULL || b == NULL ? a == b : bytes_are_equal(*a, *b);
}

/* Whether a file's time is that of the run.  The command gives an output its input's time; indexes,
 * and what the library writes, have no such input. */
static bool is_new(const struct scenario *s, const char *path)
{
    return strstr(path, ".gzi") != NULL || (s->flags & LIBRARY) != 0;
}

static bool same_trees(const struct scenario *s, const struct tree *a, const struct tree *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        size_t j = 0;

        while (j < b->count && strcmp(e->path, b->entries[j].path) != 0)
            j++;
        if (j == b->count || !bytes_are_equal(e->data, b->entries[j].data) ||
            e->mode != b->entries[j].mode || (!is_new(s, e->path) && e->time != b->entries[j].time))
            return false;
    }
    return true;
}

static bool begins_with(struct bytes whole, struct bytes start)
{
    return start.len <= whole.len && memcmp(whole.at, start.at, start.len) == 0;
}

/* --- How it ended --------------------------------------------------------------------------- */

static int signal_of(const struct fault *f)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT},    {"HUP", SIGHUP},   {"XCPU", SIGXCPU},
                   {"KILL", SIGKILL}, {"EPIPE", SIGPIPE}, {"EFBIG", SIGXFSZ}};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (strstr(f->what, signals[i].name) != NULL)
            return signals[i].number;
    return 0;
}

static void check_end(struct trial *t)
{
    if (t->r->has_hung)
        broken(t, "it did not end");
    else if (t->signal != 0 && t->signal != signal_of(t->f))
        broken(t, "it was ended by another signal");
    else if (t->exit > 2 && t->s->program != PROGRAM_RANKS)
        broken(t, "the exit status is not 0, 1 or 2");
}

/* --- Messages ------------------------------------------------------------------------------- */

static const char *words_of(const char *what)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = {
        {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
        {"ENOMEM", ENOMEM}, {"EDQUOT", EDQUOT}, {"EMFILE", EMFILE}, {"EPERM", EPERM},
        {"EACCES", EACCES}, {"EROFS", EROFS},   {"ENOENT", ENOENT}, {"EOPNOTSUPP", EOPNOTSUPP},
        {"EINVAL", EINVAL}, {"EFBIG", EFBIG},   {"EPIPE", EPIPE},   {"ENOSYS", ENOSYS},
        {"ESTALE", ESTALE},
    };

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (strcmp(what, errors[i].name) == 0)
            return strerror(errors[i].number);
    return NULL;
}

/* Whether a message says that memory, or what takes memory, is short. */
static bool says_memory(const char *text)
{
    return strstr(text, "memory exhausted") != NULL || strstr(text, "out of memory") != NULL ||
           strstr(text, "Cannot allocate memory") != NULL;
}

/* Whether the message names a file, or a directory above it. */
static bool names_file(const char *text, const char *path)
{
    for (size_t length = strlen(path); length > 0; length--) {
        const char *at = path[length] == '\0' || path[length] == '/' ? text : "";

        for (; (at = strstr(at, ": ")) != NULL; at++)
            if (strncmp(at + 2, path, length) == 0 && at[2 + length] == ':')
                return true;
    }
    return false;
}

/* Whether the message names a file of the scenario, or a stream. */
static bool names_something(const struct trial *t, const char *text)
{
    const struct tree *const trees[] = {&t->n->before, &t->n->after};

    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < trees[i]->count; j++)
            if (names_file(text, trees[i]->entries[j].path))
                return true;
    return strstr(text, "stdin") != NULL || strstr(text, "stdout") != NULL ||
           strstr(text, "standard input") != NULL;
}

/* Counts the lines that begin with the program's name; -1 if another line begins otherwise. */
static int count_messages(const struct trial *t, const char *text)
{
    int messages = 0;

    for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (strncmp(text, "gzlzss: ", 8) == 0 || strncmp(text, "emulated_gzlzss: ", 17) == 0)
            messages++;
        else if (length > 0 && (t->s->flags & LIBRARY) == 0)
            return -1;
    }
    return messages;
}

static void check_message(struct trial *t)
{
    const char *text = (const char *)t->r->err.at, *words = words_of(t->f->what);
    const int messages = count_messages(t, text);

    if (text[0] == '\0')
        broken(t, "it failed, and did not say why");
    else if (t->s->program == PROGRAM_RANKS)
        return;
    else if (messages < 0)
        broken(t, "a message does not begin with the program's name");
    else if ((t->s->flags & LIBRARY) != 0)
        return;
    else if (messages > 1 && t->f->mode == 0 && !t->f->is_change)
        broken(t, "it said more than one line");
    else if (says_memory(text) && (is_fault(t, "ENOMEM") || is_fault(t, "EAGAIN")))
        return;
    else if (words != NULL && strstr(text, words) == NULL)
        broken(t, "the message lacks the system's words");
    else if (!names_something(t, text))
        broken(t, "the message names no file");
}

/* --- Files ---------------------------------------------------------------------------------- */

/* Returns the output of an input; NULL if there is none. */
static const struct entry *output_of(const struct normal *n, const struct entry *input)
{
    for (size_t i = 0; i < n->after.count; i++) {
        const struct bytes *old = tree_find(&n->before, n->after.entries[i].path);

        if ((old == NULL || !bytes_are_equal(*old, n->after.entries[i].data)) &&
            bytes_mean_the_same(n->after.entries[i].data, input->data))
            return &n->after.entries[i];
    }
    return NULL;
}

bool judge_normal(const struct normal *n)
{
    for (size_t i = 0; i < n->before.count; i++)
        if (tree_find(&n->after, n->before.entries[i].path) == NULL &&
            output_of(n, &n->before.entries[i]) == NULL)
            return false;
    return true;
}

static bool is_complete(const struct normal *n, const struct bytes *data)
{
    for (size_t i = 0; i < n->after.count; i++)
        if (same(data, &n->after.entries[i].data))
            return true;
    return false;
}

static bool is_killed(const struct trial *t)
{
    return t->signal == SIGKILL && !t->r->has_hung;
}

/* Whether the run that has no fault makes or changes the file. */
static bool is_output(const struct trial *t, const struct entry *e)
{
    const struct bytes *before = tree_find(&t->n->before, e->path);
    const struct bytes *after = tree_find(&t->n->after, e->path);

    return after != NULL && (before == NULL || !same(before, after));
}

/* Whether a file that is neither as before nor as it should be is an exception. */
static bool is_excused(const struct trial *t, const struct entry *e)
{
    if (t->f->call == CALL_unlinkat && t->f->mode == '+')
        return true;
    if ((t->s->flags & LIBRARY) != 0 && t->exit != 0)
        return is_output(t, e);
    if (!is_killed(t))
        return false;
    if (strstr(e->path, TEMPORARY) != NULL)
        return is_complete(t->n, &e->data);
    return (t->s->flags & ATOMIC) == 0 && tree_find(&t->n->after, e->path) != NULL;
}

/* Rules 6 and 7, for a file that is there. */
static void check_present(struct trial *t, const struct entry *e)
{
    const struct bytes *before = tree_find(&t->n->before, e->path);
    const struct bytes *after = tree_find(&t->n->after, e->path);

    if ((before != NULL && same(&e->data, before)) || (after != NULL && same(&e->data, after)) ||
        is_excused(t, e))
        return;
    if (before == NULL && after == NULL)
        broken(t, "a file is left over");
    else
        broken(t, "a file is partial or damaged");
}

/* Rules 5 and 6, for a file that was there before. */
static void check_absent(struct trial *t, const struct entry *e)
{
    const struct bytes *after = tree_find(&t->n->after, e->path);
    const struct entry *output;

    if (tree_find(&t->r->tree, e->path) != NULL)
        return;
    if (after != NULL) {
        if (same(after, &e->data))
            broken(t, "a file is gone that has nothing to do with the work");
        else if ((t->s->flags & ATOMIC) != 0)
            broken(t, "an old output is gone in spite of --atomic");
        return;
    }
    output = output_of(t->n, e);
    if (output == NULL || !same(tree_find(&t->r->tree, output->path), &output->data))
        broken(t, "the input is gone, and the output is not complete");
}

static bool is_skipped(const struct trial *t, const char *path)
{
    return (t->skip[0] != NULL && strcmp(t->skip[0], path) == 0) ||
           (t->skip[1] != NULL && strcmp(t->skip[1], path) == 0);
}

static void check_files(struct trial *t)
{
    for (size_t i = 0; i < t->r->tree.count; i++)
        if (!is_skipped(t, t->r->tree.entries[i].path) &&
            !(t->skip[0] != NULL && strstr(t->r->tree.entries[i].path, ".gzi") != NULL))
            check_present(t, &t->r->tree.entries[i]);
    for (size_t i = 0; i < t->n->before.count; i++)
        if (!is_skipped(t, t->n->before.entries[i].path))
            check_absent(t, &t->n->before.entries[i]);
}

/* --- Changes by others ---------------------------------------------------------------------- */

/* Returns, allocated, what the file that has changed holds now. */
static struct bytes changed_data(const struct trial *t, const struct bytes *old)
{
    const size_t more = strlen(CHANGE_TEXT);
    struct bytes now = {malloc(old->len + more + 1), old->len};

    memcpy(now.at, old->at, old->len);
    if (is_fault(t, "grow")) {
        memcpy(now.at + now.len, CHANGE_TEXT, more);
        now.len += more;
    } else if (is_fault(t, "shrink")) {
        now.len /= 2;
    } else if (is_fault(t, "rewrite")) {
        now.at[0] ^= 1;
    }
    return now;
}

/* Rules 10 and 11.  Returns false for the one case that no program can avoid. */
static bool check_changed(struct trial *t, const struct bytes *small)
{
    const struct bytes *old = tree_find(&t->n->before, t->s->changing), *input, *output = NULL;
    const struct entry input_entry = {(char *)t->s->changing, *old, 0, 0};
    const struct entry *normal = output_of(t->n, &input_entry);
    struct bytes now = changed_data(t, is_fault(t, "replace") ? small : old);
    bool is_kept = is_fault(t, "remove");

    input = tree_find(&t->r->tree, t->s->changing);
    t->skip[0] = t->s->changing;
    if (normal != NULL) {
        t->skip[1] = normal->path;
        output = tree_find(&t->r->tree, normal->path);
    }
    check_files(t);
    check_files(t);
    is_kept |= input != NULL && bytes_are_equal(*input, now);
    is_kept |= output != NULL && bytes_mean_the_same(*output, now);
    if (output != NULL && !bytes_mean_the_same(*output, now) &&
        !bytes_mean_the_same(*output, *old) &&
        !same(output, tree_find(&t->n->before, normal->path)))
        broken(t, "the output is partial");
    free(now.at);
    if (!is_kept && (t->r->shared.at == CALL_unlinkat || t->r->shared.beside != 0))
        return false;
    if (!is_kept)
        broken(t, "what another process wrote is lost");
    return true;
}

/* Rule 12. */
static void check_appeared(struct trial *t)
{
    const struct bytes text = {(uint8_t *)CHANGE_TEXT, strlen(CHANGE_TEXT)};

    if (!same(tree_find(&t->r->tree, t->s->output), &text))
        broken(t, "the file of another process is gone");
    for (size_t i = 0; i < t->n->before.count; i++)
        if (!same(tree_find(&t->r->tree, t->n->before.entries[i].path),
                  &t->n->before.entries[i].data))
            broken(t, "the input is gone, and there is no output");
}

/* --- All ------------------------------------------------------------------------------------ */

/* Whether the only message is that something is done in another way. */
static bool takes_another_way(const struct trial *t)
{
    const char *text = (const char *)t->r->err.at;

    return count_messages(t, text) == 1 && (strstr(text, "so it is ignored") != NULL ||
                                            strstr(text, "decompressed from the start") != NULL ||
                                            strstr(text, "uses a temporary name here") != NULL);
}

static void check_success(struct trial *t)
{
    if (!same_trees(t->s, &t->r->tree, &t->n->after))
        broken(t, "status 0, and the files are not as they should be");
    else if (!bytes_are_equal(t->r->out, t->n->out))
        broken(t, "status 0, and standard output is not as it should be");
    else if (!bytes_are_equal(t->r->err, t->n->err) && !takes_another_way(t))
        broken(t, "status 0, and a message");
    else if (fault_expectation(t->f, t->s, t->r->shared.writable != 0) == MUST_SAY)
        broken(t, "the error was ignored");
}

static void check_failure(struct trial *t)
{
    if (fault_expectation(t->f, t->s, t->r->shared.writable != 0) == GOES_ON)
        broken(t, "it should have gone on");
    check_message(t);
}

static enum outcome outcome_of(const struct trial *t)
{
    if (t->why != NULL)
        return LOST;
    if (t->signal != 0)
        return ENDED;
    return t->exit == 0 ? WENT_ON : t->exit == 2 ? WARNED : SAID;
}

/* A run in which another process has changed something. */
static enum outcome judge_change(struct trial *t, const struct bytes *small)
{
    check_end(t);
    if (t->exit > 0 && t->r->err.len == 0)
        broken(t, "it failed, and did not say why");
    if (is_fault(t, "appear"))
        check_appeared(t);
    else if (!check_changed(t, small) && t->why == NULL)
        return WINDOW;
    return outcome_of(t);
}

enum outcome judge(const struct scenario *s, const struct normal *n, const struct fault *f,
                   const struct result *r, const char **why)
{
    struct trial t = {.s = s, .n = n, .f = f, .r = r, .exit = -1};
    enum outcome outcome;

    if (WIFSIGNALED(r->status))
        t.signal = WTERMSIG(r->status);
    else
        t.exit = WEXITSTATUS(r->status);
    if (f->is_change && r->shared.changed != 0 && !is_fault(&t, "move")) {
        outcome = judge_change(&t, &n->small);
        *why = t.why;
        return outcome;
    }
    check_end(&t);
    if (t.exit == 0)
        check_success(&t);
    else if (t.exit > 0)
        check_failure(&t);
    else if (f->is_signal && r->err.len > 0)
        broken(&t, "a signal, and a message");
    check_files(&t);
    if (!begins_with(n->out, r->out))
        broken(&t, "standard output has something else");
    outcome = outcome_of(&t);
    *why = t.why;
    return outcome;
}
