/*
 * main.c - makes every call of the command fail, once for each scenario, call, error and number
 *
 *   tests/faults/faults [OPTION...]
 *
 *   --every=K --seed=S   run only one of K runs, another one for each S
 *   --jobs=N             N runs at a time (default: one for each processor)
 *   --only=TEXT          only scenarios whose names contain TEXT
 *   --fault=TEXT         only values of FAULT (faults.h) that begin with TEXT
 *   --table=FILE         write a line for each scenario, call and error to FILE
 *   --keep               keep the directory of the runs
 *
 * The program makes each run in a new directory, and compares what it leaves with a run without
 * faults, by the rules in judge.c.  It prints each run that breaks a rule, with the command that
 * repeats it, and a table.  The exit status is 1 if a rule was broken, 77 if nothing can be tested
 * here.
 */
#include "config.h"

#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/judge.h"

#define SCENARIOS_MAX 80
#define FAULTS_MAX 420
#define JOBS_MAX 64

/* Runs without faults before the others, to count the calls. */
#define NORMAL_RUNS 3

/* No call is made more often than this in a scenario. */
#define CALLS_MAX 20000

/* After so many numbers in a row that no call had, there are no more calls. */
#define MISSES_MAX 2

struct row {
    atomic_long runs, by_outcome[OUTCOMES];
};

/* What the workers share. */
struct board {
    atomic_size_t next; /* the task to take next */
    struct row rows[SCENARIOS_MAX][FAULTS_MAX];
};

struct session {
    struct tools tools;
    struct normal normals[SCENARIOS_MAX];
    bool is_there[SCENARIOS_MAX];
    size_t scenarios, faults;
    struct board *board;
    unsigned every, seed;
    int jobs;
    const char *only, *fault, *table;
    bool keep;
};

/* --- Runs without faults -------------------------------------------------------------------- */

/* Ends the program because a scenario does not even work without faults. */
static void refuse(const struct session *x, const struct scenario *s, const struct place *p,
                   const struct result *r)
{
    printf("without faults, \"%s\" fails (status %x): %s\n", s->name, (unsigned)r->status,
           r->err.at);
    run_print(stdout, &x->tools, p, s, "");
    exit(1);
}

static void note_counts(struct normal *n, const struct result *r)
{
    for (int c = 0; c < CALL_COUNT; c++)
        if (n->counts[c] < r->shared.counts[c])
            n->counts[c] = r->shared.counts[c];
}

static void find_normal(struct session *x, const struct place *p, size_t number)
{
    const struct scenario *s = &scenarios[number];
    struct normal *n = &x->normals[number];

    run_prepare(&x->tools, p, s);
    tree_add(&n->before, p->files, "");
    n->small = contents_find(&x->tools.contents, "small", 5);
    for (int i = 0; i < NORMAL_RUNS; i++) {
        struct result r;

        run_once(&x->tools, p, s, NULL, &r);
        note_counts(n, &r);
        if (i == 0) {
            n->after = r.tree;
            n->out = r.out;
            n->err = r.err;
        }
        if (r.status != 0 || !judge_normal(n) || !bytes_are_equal(r.out, n->out))
            refuse(x, s, p, &r);
        if (i > 0)
            result_free(&r);
    }
    x->is_there[number] = true;
}

static bool is_wanted(const struct session *x, const struct scenario *s)
{
    return x->tools.programs[s->program] != NULL &&
           (x->only == NULL || strstr(s->name, x->only) != NULL);
}

/* --- Runs with faults ----------------------------------------------------------------------- */

/* Whether this run is part of the sample. */
static bool is_sampled(const struct session *x, size_t scenario, size_t fault, long n)
{
    uint64_t hash = scenario * 1000003 + fault * 8191 + (uint64_t)n;

    hash = (hash ^ (hash >> 16)) * UINT64_C(0x9e3779b97f4a7c15);
    return x->every <= 1 || (hash >> 33) % x->every == x->seed % x->every;
}

static void print_loss(const struct session *x, const struct place *p, const struct scenario *s,
                       const char *what, const struct result *r, const char *why)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    fprintf(to, "LOST: %s: FAULT='%s' at %s, status %x: %s\n", s->name, what,
            call_names[r->shared.at], (unsigned)r->status, why);
    if (r->err.len > 0)
        fprintf(to, "  it said: %s\n", r->err.at);
    fprintf(to, "  tests/faults/faults --keep --jobs=1 --only='%s' --fault='%s', or\n  ", s->name,
            what);
    run_print(to, &x->tools, p, s, what);
    fclose(to);
    fwrite(text, 1, size, stdout);
    fflush(stdout);
    free(text);
}

/* Runs one scenario with one fault.  False if the call was not made so often. */
static bool try(struct session *x, const struct place *p, size_t scenario, size_t fault, long n)
{
    const struct scenario *s = &scenarios[scenario];
    const struct fault f = fault_at(fault);
    struct row *row = &x->board->rows[scenario][fault];
    const char *why = NULL, mode[2] = {f.mode, '\0'};
    char *what = text_of("%s %ld%s %s", call_names[f.call], n, mode, f.what);
    struct result r;
    bool has_fired;

    if (x->fault != NULL && strncmp(what, x->fault, strlen(x->fault)) != 0) {
        free(what);
        return n < x->normals[scenario].counts[f.call];
    }
    run_once(&x->tools, p, s, what, &r);
    has_fired = r.shared.fired > 0 || r.has_hung;
    if (has_fired) {
        const enum outcome outcome = judge(s, &x->normals[scenario], &f, &r, &why);

        row->runs++;
        row->by_outcome[outcome]++;
        if (outcome == LOST)
            print_loss(x, p, s, what, &r, why);
    }
    result_free(&r);
    free(what);
    return has_fired;
}

/* Runs one scenario with one fault at every call. */
static void do_task(struct session *x, const struct place *p, size_t scenario, size_t fault)
{
    const struct fault f = fault_at(fault);
    const long most = x->normals[scenario].counts[f.call];
    int misses = 0;

    if (!x->is_there[scenario] || most == 0 || !fault_suits(&f, &scenarios[scenario]))
        return;
    for (long n = f.mode == '/' ? 2 : 1; n < (f.mode == '/' ? 4 : CALLS_MAX); n++) {
        if (!is_sampled(x, scenario, fault, n)) {
            if (n >= most)
                return;
            continue;
        }
        misses = try(x, p, scenario, fault, n) ? 0 : misses + 1;
        if (n >= most && misses >= MISSES_MAX)
            return;
    }
}

static void work(struct session *x, int number)
{
    const size_t tasks = x->scenarios * x->faults;
    struct place p;

    place_make(&p, &x->tools, number);
    for (;;) {
        const size_t task = atomic_fetch_add(&x->board->next, 1);

        if (task >= tasks)
            break;
        /* One scenario after another would let the workers end at different times. */
        do_task(x, &p, task % x->scenarios, task / x->scenarios);
    }
    _exit(0);
}

static bool run_workers(struct session *x)
{
    bool ok = true;
    int status;

    fflush(NULL);
    for (int i = 0; i < x->jobs; i++)
        if (fork() == 0)
            work(x, i);
    while (wait(&status) > 0)
        ok = ok && status == 0;
    return ok;
}

/* --- The table ------------------------------------------------------------------------------ */

static const char *const outcome_names[] = {"went on", "said so", "warned",
                                            "ended",   "window",  "LOST"};

static void print_head(FILE *to, const char *first)
{
    fprintf(to, "%-44s %8s", first, "failed");
    for (int o = 0; o < OUTCOMES; o++)
        fprintf(to, " %8s", outcome_names[o]);
    fputc('\n', to);
}

static void print_sums(FILE *to, const char *first, const long *sums)
{
    fprintf(to, "%-44s %8ld", first, sums[OUTCOMES]);
    for (int o = 0; o < OUTCOMES; o++)
        fprintf(to, " %8ld", sums[o]);
    fputc('\n', to);
}

/* Adds a row to sums[0..OUTCOMES], whose last number counts all runs. */
static void add_row(long *sums, struct row *row)
{
    for (int o = 0; o < OUTCOMES; o++)
        sums[o] += row->by_outcome[o];
    sums[OUTCOMES] += row->runs;
}

static char *name_of_fault(size_t fault)
{
    const struct fault f = fault_at(fault);

    return text_of("%s %s%s", call_names[f.call], f.what,
                   f.mode == '+'   ? ", for good"
                   : f.mode == '/' ? ", every 2nd or 3rd"
                                   : "");
}

static void write_table(struct session *x)
{
    FILE *to = fopen(x->table, "w");

    if (to == NULL) {
        perror(x->table);
        exit(3);
    }
    fprintf(to, "scenario\tcall and error\tcalls failed\twent on\tsaid so\twarned\tended\twindow\t"
                "LOST\n");
    for (size_t s = 0; s < x->scenarios; s++)
        for (size_t f = 0; f < x->faults; f++) {
            struct row *row = &x->board->rows[s][f];
            char *name = name_of_fault(f);

            if (row->runs > 0) {
                fprintf(to, "%s\t%s\t%ld", scenarios[s].name, name, (long)row->runs);
                for (int o = 0; o < OUTCOMES; o++)
                    fprintf(to, "\t%ld", (long)row->by_outcome[o]);
                fputc('\n', to);
            }
            free(name);
        }
    fclose(to);
}

static void print_by_fault(struct session *x)
{
    print_head(stdout, "call, error");
    for (size_t f = 0; f < x->faults; f++) {
        long sums[OUTCOMES + 1] = {0};
        char *name = name_of_fault(f);

        for (size_t s = 0; s < x->scenarios; s++)
            add_row(sums, &x->board->rows[s][f]);
        if (sums[OUTCOMES] > 0)
            print_sums(stdout, name, sums);
        free(name);
    }
}

/* Returns the number of runs that broke a rule. */
static long print_by_scenario(struct session *x)
{
    long all[OUTCOMES + 1] = {0};

    putchar('\n');
    print_head(stdout, "scenario");
    for (size_t s = 0; s < x->scenarios; s++) {
        long sums[OUTCOMES + 1] = {0};

        for (size_t f = 0; f < x->faults; f++) {
            add_row(sums, &x->board->rows[s][f]);
            add_row(all, &x->board->rows[s][f]);
        }
        if (sums[OUTCOMES] > 0)
            print_sums(stdout, scenarios[s].name, sums);
    }
    print_sums(stdout, "all", all);
    return all[LOST];
}

/* --- The start ------------------------------------------------------------------------------ */

static const char *if_there(char *path)
{
    return access(path, X_OK) == 0 ? path : NULL;
}

/* Finds the programs from the path of this one, which is TOP/tests/faults/faults. */
static void find_tools(struct tools *t)
{
    const char *command = getenv("GZLZSS_COMMAND"), *mpirun = getenv("MPIRUN");
    char *own = realpath("/proc/self/exe", NULL), *top = own;

    for (int i = 0; own != NULL && i < 3; i++)
        *strrchr(own, '/') = '\0';
    if (top == NULL)
        exit(3);
    t->programs[PROGRAM_COMMAND] = command != NULL ? command : if_there(text_of("%s/gzlzss", top));
    t->programs[PROGRAM_EMULATED] = if_there(text_of("%s/tests/emulated_gzlzss", top));
    t->programs[PROGRAM_LIBRARY] = if_there(text_of("%s/tests/library", top));
    t->mpirun = mpirun != NULL && mpirun[0] == '/' ? mpirun : if_there(text_of("/usr/bin/mpirun"));
    if (t->mpirun != NULL)
        t->programs[PROGRAM_RANKS] = if_there(text_of("%s/gzlzss-mpi", top));
    t->shim = text_of("%s/tests/faults/shim.so", top);
}

static void make_work(struct tools *t)
{
    const char *base = getenv("TMPDIR");

    if (base == NULL)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    t->work = mkdtemp(text_of("%s/faults-XXXXXX", base));
    if (t->work == NULL) {
        perror(base);
        exit(3);
    }
}

/* Whether the library can be loaded: it needs glibc, and programs that are linked dynamically,
 * without a sanitizer. */
static bool can_load(const struct tools *t)
{
    char *line = text_of("FAULT_COUNT=1 LD_PRELOAD='%s' '%s' --version 2>&1 >/dev/null | "
                         "grep -q '^COUNT any'",
                         t->shim, t->programs[PROGRAM_COMMAND]);
    const bool ok = system(line) == 0;

    free(line);
    return ok;
}

static void parse_options(struct session *x, int argc, char **argv)
{
    static const struct option options[] = {
        {"every", required_argument, NULL, 'e'}, {"seed", required_argument, NULL, 's'},
        {"jobs", required_argument, NULL, 'j'},  {"only", required_argument, NULL, 'o'},
        {"fault", required_argument, NULL, 'f'}, {"table", required_argument, NULL, 't'},
        {"keep", no_argument, NULL, 'k'},        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (letter) {
        case 'e':
            x->every = (unsigned)atoi(optarg);
            break;
        case 's':
            x->seed = (unsigned)atoi(optarg);
            break;
        case 'j':
            x->jobs = atoi(optarg);
            break;
        case 'o':
            x->only = optarg;
            break;
        case 'f':
            x->fault = optarg;
            break;
        case 't':
            x->table = optarg;
            break;
        case 'k':
            x->keep = true;
            break;
        default:
            exit(2);
        }
}

static void begin(struct session *x)
{
    sigset_t child;
    struct place p;
    char *base;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    umask(022);
    make_work(&x->tools);
    base = text_of("%s/contents", x->tools.work);
    mkdir(base, 0700);
    contents_make(&x->tools.contents, x->tools.programs[PROGRAM_COMMAND], base);
    free(base);
    place_make(&p, &x->tools, 0);
    while (fault_at(x->faults).what != NULL)
        x->faults++;
    for (; scenarios[x->scenarios].name != NULL; x->scenarios++)
        if (is_wanted(x, &scenarios[x->scenarios]))
            find_normal(x, &p, x->scenarios);
    if (x->faults > FAULTS_MAX || x->scenarios > SCENARIOS_MAX)
        abort();
}

int main(int argc, char **argv)
{
    static struct session x;
    const time_t began = time(NULL);
    long losses;
    bool ok;

    x.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    parse_options(&x, argc, argv);
    find_tools(&x.tools);
    if (x.tools.programs[PROGRAM_COMMAND] == NULL || !can_load(&x.tools)) {
        puts("skipped: the library that makes calls fail cannot be loaded here");
        return 77;
    }
    x.board =
        mmap(NULL, sizeof(*x.board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (x.board == MAP_FAILED)
        return 3;
    begin(&x);
    ok = run_workers(&x);
    print_by_fault(&x);
    losses = print_by_scenario(&x);
    printf("%ld s, %d at a time\n", (long)(time(NULL) - began), x.jobs);
    if (x.table != NULL)
        write_table(&x);
    if (!x.keep)
        tree_remove(x.tools.work);
    return losses > 0 ? 1 : ok ? 0 : 3;
}
