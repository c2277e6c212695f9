/*
 * ranks.c - the ranks: how they wait for each other, agree, and share a machine (ranks.h)
 */
#include "config.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "mpi/ranks.h"

/* The time for which ranks_meet sleeps between two checks whether all ranks have arrived.  The time
 * doubles from SLEEP_FIRST_NS to SLEEP_LAST_NS.  With a longer last sleep, ranks that have woken up
 * wait longer, without sleeping, for ranks that still sleep.  With a shorter last sleep, the checks
 * take more processor time. */
#define SLEEP_FIRST_NS 20000L
#define SLEEP_LAST_NS 160000L

/* For this time, ranks_meet checks without sleeping.  At the start of a run, ranks meet a dozen
 * times, and all arrive at once. */
#define LOOK_SECONDS 100e-6

/* The most bytes of one MPI call.  There is a limit because MPI counts bytes in an int. */
#define AT_ONCE ((size_t)1 << 30)

static const char *program_name;

/* Ends the process by SIGTERM, and with it all ranks, because a rank without memory for a few bytes
 * cannot go on.  The handler of SIGTERM removes the temporary file.  If the rank was started with
 * SIGTERM ignored, MPI ends it. */
static _Noreturn void end_all(void)
{
    kill(getpid(), SIGTERM);
    sleep(1);
    MPI_Abort(MPI_COMM_WORLD, (int)STATUS_ERROR);
    _exit((int)STATUS_ERROR);
}

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "%s: memory exhausted\n", program_name);
        end_all();
    }
    return memory;
}

/* MPI calls this if ranks cannot reach each other. */
static void on_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    (void)comm;
    MPI_Error_string(*code, text, &length);
    fprintf(stderr, "%s: the ranks cannot reach each other: %s\n", program_name, text);
    end_all();
}

void ranks_begin(int *argc, char ***argv, const char *program)
{
    MPI_Errhandler handler;
    int provided;

    program_name = program;
    /* Only the main thread calls MPI. */
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) {
        fprintf(stderr, "%s: this MPI does not go with threads\n", program);
        MPI_Abort(MPI_COMM_WORLD, (int)STATUS_ERROR);
        exit((int)STATUS_ERROR);
    }
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

void ranks_end(void)
{
    const struct ranks all = ranks_all();

    ranks_meet(&all);
    MPI_Finalize();
}

struct ranks ranks_all(void)
{
    struct ranks r = {.comm = MPI_COMM_WORLD};

    MPI_Comm_rank(r.comm, &r.rank);
    MPI_Comm_size(r.comm, &r.count);
    return r;
}

struct ranks ranks_alone(void)
{
    return (struct ranks){MPI_COMM_SELF, 0, 1};
}

void ranks_meet(const struct ranks *r)
{
    struct timespec sleep = {.tv_nsec = SLEEP_FIRST_NS};
    const double begin = clock_seconds();
    MPI_Request request;
    int is_done = 0;

    if (r->count == 1)
        return;
    MPI_Ibarrier(r->comm, &request);
    for (;;) {
        MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        if (is_done)
            return;
        if (clock_seconds() - begin < LOOK_SECONDS)
            continue;
        nanosleep(&sleep, NULL);
        if (sleep.tv_nsec < SLEEP_LAST_NS)
            sleep.tv_nsec *= 2;
    }
}

void ranks_add_up(const struct ranks *r, const uint64_t *mine, int count, uint64_t *before,
                  uint64_t *all)
{
    /* Do not replace ranks_meet and MPI_Exscan by MPI_Iexscan.  In Open MPI, the sum of MPI_Iexscan
     * goes from rank to rank, and each rank may be asleep. */
    ranks_meet(r);
    MPI_Exscan(mine, before, 1, MPI_UINT64_T, MPI_SUM, r->comm);
    if (r->rank == 0)
        *before = 0; /* MPI leaves it undefined */
    MPI_Allreduce(mine, all, count, MPI_UINT64_T, MPI_SUM, r->comm);
}

bool ranks_agree(const struct ranks *r, bool is_well)
{
    int well = is_well, all = 0;

    ranks_meet(r);
    MPI_Allreduce(&well, &all, 1, MPI_INT, MPI_LAND, r->comm);
    return all != 0;
}

/* Returns how many of the `len` bytes that are left go into the next call of MPI. */
static int some_of(size_t len)
{
    return (int)(len < AT_ONCE ? len : AT_ONCE);
}

void ranks_share(const struct ranks *r, void *bytes, size_t len)
{
    uint8_t *from = bytes;

    ranks_meet(r);
    for (size_t some; len > 0; from += some, len -= some) {
        some = (size_t)some_of(len);
        MPI_Bcast(from, (int)some, MPI_BYTE, 0, r->comm);
    }
}

char *ranks_share_text(const struct ranks *r, const char *text)
{
    const char *mine = r->rank == 0 && text != NULL ? text : "";
    uint64_t size = strlen(mine) + 1;
    char *copy;

    ranks_share(r, &size, sizeof(size));
    copy = must(calloc(1, (size_t)size));
    memcpy(copy, mine, strlen(mine));
    ranks_share(r, copy, (size_t)size);
    return copy;
}

void ranks_share_variable(const struct ranks *r, const char *name)
{
    char *value = ranks_share_text(r, getenv(name));

    if (r->rank != 0 && value[0] != '\0')
        setenv(name, value, 1);
    else if (r->rank != 0)
        unsetenv(name);
    free(value);
}

bool ranks_have_same(const struct ranks *r, char *const *texts, int count)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), limits[2], found[2]; /* FNV-1a */

    for (int i = 0; i < count; i++)
        for (const char *c = texts[i];; c++) {
            hash = (hash ^ (uint64_t)(unsigned char)*c) * UINT64_C(0x100000001b3);
            if (*c == '\0')
                break;
        }
    limits[0] = hash;
    limits[1] = ~hash;
    ranks_meet(r);
    MPI_Allreduce(limits, found, 2, MPI_UINT64_T, MPI_MAX, r->comm);
    return found[0] == ~found[1];
}

/* Moves bytes from rank `from` to rank 0.  Both of these ranks must call this function. */
static void move(const struct ranks *r, void *bytes, size_t len, int from)
{
    enum { TAG = 1 };
    uint8_t *at = bytes;

    for (size_t some; len > 0; at += some, len -= some) {
        some = (size_t)some_of(len);
        if (r->rank == from)
            MPI_Send(at, (int)some, MPI_BYTE, 0, TAG, r->comm);
        else
            MPI_Recv(at, (int)some, MPI_BYTE, from, TAG, r->comm, MPI_STATUS_IGNORE);
    }
}

void ranks_hand_over(const struct ranks *r, struct messages *m, int from)
{
    uint64_t size = m->length;
    char *text;

    if (from == 0 || (r->rank != 0 && r->rank != from))
        return;
    move(r, &size, sizeof(size), from);
    if (r->rank == from) {
        move(r, m->text, (size_t)size, from);
        msg_discard(m);
        return;
    }
    text = must(malloc((size_t)size + 1));
    move(r, text, (size_t)size, from);
    text[size] = '\0';
    msg_print(m, "%-s", text);
    free(text);
}

void ranks_tell(const struct ranks *r, struct messages *m)
{
    int mine = m->status != STATUS_OK ? r->rank : INT_MAX, first = INT_MAX, status;

    ranks_meet(r);
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, r->comm);
    if (first != 0 && first != INT_MAX)
        ranks_hand_over(r, m, first);
    if (r->rank != 0)
        msg_discard(m);
    status = (int)m->status;
    MPI_Bcast(&status, 1, MPI_INT, first == INT_MAX ? 0 : first, r->comm);
    m->status = (enum status)status;
}

/* --- The machine ---------------------------------------------------------------------------- */

/* The group of the ranks on this machine. */
static struct ranks local_ranks(void)
{
    struct ranks r;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &r.comm);
    MPI_Comm_rank(r.comm, &r.rank);
    MPI_Comm_size(r.comm, &r.count);
    return r;
}

int ranks_local(void)
{
    struct ranks local = local_ranks();

    MPI_Comm_free(&local.comm);
    return local.rank;
}

int ranks_threads(void)
{
    struct ranks local = local_ranks();
    struct limits_set mine, *all = must(calloc((size_t)local.count, sizeof(*all)));
    struct limits l;
    int sharing = 0;

    /* If limits_affinity fails on all ranks, all have the same mask, and share all processors. */
    (void)limits_affinity(&mine);
    MPI_Allgather(&mine, (int)sizeof(mine), MPI_BYTE, all, (int)sizeof(mine), MPI_BYTE, local.comm);
    for (int i = 0; i < local.count; i++)
        sharing += memcmp(&mine, &all[i], sizeof(mine)) == 0;
    free(all);
    MPI_Comm_free(&local.comm);
    limits_read(&l, "");
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the mask of this rank is in `all`, too */
    return l.threads > sharing ? l.threads / sharing : 1;
}
