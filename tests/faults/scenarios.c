/*
 * scenarios.c - tables: the work during which calls fail, and the faults (scenarios.h)
 */
#include "config.h"

#include <string.h>

#include "tests/faults/scenarios.h"

#define REGION "GZLZSS_TEST_REGION=9000"
#define GPU "GZLZSS_TEST_GPU_MIN=0"

/* The first three fields of a scenario. */
#define WORK(name_, arguments_, files_) \
    .name = (name_), .arguments = (arguments_), .files = (files_)

const struct scenario scenarios[] = {
    {WORK("compress", "-p1 text", "text=text"), .changing = "text", .output = "text.gz"},
    {WORK("compress by 4 threads", "-p4 -b 32 text", "text=text"), .changing = "text"},
    {WORK("compress at level 12", "-12 -p2 -b 32 text", "text=text"), .flags = SLOW},
    {WORK("compress, rsyncable", "--rsyncable -p2 text", "text=text"), .changing = "text"},
    {WORK("compress, --huffman", "--huffman -p2 -b 32 text", "text=text"), .flags = SLOW},
    {WORK("compress over an old file", "-f -p2 text", "text=text text.gz=small"),
     .changing = "text"},
    {WORK("compress, keep", "-k -p2 text", "text=text"), .changing = "text"},
    {WORK("compress, atomic", "--atomic -p2 text", "text=text"), .changing = "text",
     .output = "text.gz", .flags = ATOMIC},
    {WORK("compress, atomic, over an old file", "--atomic -f -p2 text", "text=text text.gz=small"),
     .changing = "text", .flags = ATOMIC},
    {WORK("compress, synchronous", "--synchronous -p2 text", "text=text"), .flags = SYNCED},
    {WORK("compress, atomic, synchronous", "--atomic --synchronous -p2 text", "text=text"),
     .flags = ATOMIC | SYNCED},
    {WORK("compress to standard output", "-c -p2 -b 32 text", "text=text"), .changing = "text"},
    {WORK("compress a pipe to a pipe, 1 thread", "-p1 -b 32", ""), .in = "text",
     .flags = IN_PIPE | OUT_PIPE},
    {WORK("compress a pipe to a pipe, 4 threads", "-p4 -b 32", ""), .in = "text",
     .flags = IN_PIPE | OUT_PIPE},
    {WORK("compress to another name", "-p2 text -o new", "text=text"), .changing = "text",
     .output = "new"},
    {WORK("compress to a directory", "-p2 --output-dir-mirror=out a/x b/y", "a/x=small b/y=text")},
    {WORK("compress to zip", "-k -K -p2 text", "text=text"), .flags = SLOW},
    {WORK("compress to BGZF, with an index", "--format=bgzf --index -p2 text", "text=text")},
    {WORK("compress with an index", "--index -p2 -b 32 text", "text=text"), .changing = "text"},
    {WORK("compress a file with holes", "-p2 -b 32 holes", "holes=holes")},
    {WORK("compress many files", "-p2 a b c d", "a=small b=text c=other d=tiny"), .changing = "b"},
    {WORK("compress many files, atomic", "--atomic -f -p2 a b c",
          "a=small b=text c=other a.gz=tiny"),
     .changing = "c", .flags = ATOMIC},
    {WORK("compress many files, listed", "-p2 --files-from=names",
          "names=names a=small b=tiny c=other")},
    {WORK("compress a tree", "-r -p2 d", "d/a=small d/b=tiny d/e/c=other"), .changing = "d/b"},
    {WORK("compress a file in a directory", "-p2 d/text", "d/text=text"), .changing = "d/"},
    {WORK("compress by GPU", "--backend=auto -p2 -b 32 text", "text=small"),
     .program = PROGRAM_EMULATED, .environment = GPU, .flags = SLOW},
    {WORK("decompress", "-d -p1 text.gz", "text.gz=text.gz"), .changing = "text.gz",
     .output = "text"},
    {WORK("decompress by 4 threads", "-d -p4 text.gz", "text.gz=text.gz"), .environment = REGION,
     .changing = "text.gz"},
    {WORK("decompress over an old file", "-df -p2 text.gz", "text.gz=text.gz text=small"),
     .environment = REGION},
    {WORK("decompress, atomic, over an old file", "-df --atomic -p2 text.gz",
          "text.gz=text.gz text=small"),
     .environment = REGION, .changing = "text.gz", .flags = ATOMIC},
    {WORK("decompress, synchronous", "-d --synchronous -p2 text.gz", "text.gz=text.gz"),
     .flags = SYNCED},
    {WORK("decompress, to standard output", "-dc -p4 text.gz", "text.gz=text.gz"),
     .environment = REGION, .changing = "text.gz"},
    {WORK("decompress a pipe to a pipe, 1 thread", "-d -p1", ""), .in = "text.gz",
     .flags = IN_PIPE | OUT_PIPE},
    {WORK("decompress a pipe to a pipe, 4 threads", "-d -p4", ""), .in = "text.gz",
     .environment = REGION, .flags = IN_PIPE | OUT_PIPE},
    {WORK("decompress, with holes", "-d -p2 holes.gz", "holes.gz=holes.gz")},
    {WORK("decompress, making an index", "-d --index -p2 text.gz", "text.gz=text.gz")},
    {WORK("decompress many files", "-d -p2 a.gz b.gz c.gz",
          "a.gz=small.gz b.gz=text.gz c.gz=tiny.gz"),
     .changing = "b.gz"},
    {WORK("decompress a tree", "-dr -p2 d", "d/a.gz=small.gz d/e/b.gz=tiny.gz")},
    {WORK("decompress with its stored name", "-dN -p2 a.gz", "a.gz=named.gz")},
    {WORK("decompress by GPU", "-d --backend=auto -p2 text.gz", "text.gz=small.gz"),
     .program = PROGRAM_EMULATED, .environment = GPU, .flags = SLOW},
    {WORK("decompress, what is good", "-d --recover -p1 text.gz", "text.gz=text.gz")},
    {WORK("test", "-t -p4 text.gz", "text.gz=text.gz"), .environment = REGION},
    {WORK("test many files", "-t -p2 a.gz b.gz", "a.gz=small.gz b.gz=text.gz")},
    {WORK("list", "-l text.gz", "text.gz=text.gz")},
    {WORK("list, in detail", "-lv text.gz", "text.gz=text.gz")},
    {WORK("a range by marks", "--range=70000:5000 -p2 text.gz", "text.gz=text.gz")},
    {WORK("a range by an index", "--range=70000:5000 -p2 text.gz",
          "text.gz=text.gz text.gz.gzi=text.gz.gzi")},
    {WORK("a range without help", "--range=70000:5000 -p2 text.gz", "text.gz=solid.gz")},
    {WORK("lines by an index", "--lines=100:20 -p2 text.gz",
          "text.gz=text.gz text.gz.gzi=text.gz.gzi")},
    {WORK("make an index", "--reindex -p2 text.gz", "text.gz=text.gz")},
    {WORK("a large file, with room ahead", "-d -p2 big.gz", "big.gz=big.gz"),
     .environment = "FAULT_EXT4=1", .flags = FEW_CALLS},
    {WORK("the library: a descriptor", "fd -p 2 -s 32768", ""), .program = PROGRAM_LIBRARY,
     .in = "text", .flags = LIBRARY},
    {WORK("the library: a pipe", "fd -p 2 -s 32768", ""), .program = PROGRAM_LIBRARY, .in = "text",
     .flags = LIBRARY | IN_PIPE | OUT_PIPE},
    {WORK("the library: decompress a descriptor", "fd -d -p 2", ""), .program = PROGRAM_LIBRARY,
     .in = "text.gz", .environment = REGION, .flags = LIBRARY},
    {WORK("the library: memory", "memory -p 2 -s 32768", ""), .program = PROGRAM_LIBRARY,
     .in = "text", .flags = LIBRARY},
    {WORK("the library: decompress in memory", "memory -d -p 2", ""), .program = PROGRAM_LIBRARY,
     .in = "text.gz", .environment = REGION, .flags = LIBRARY},
    {WORK("the library: a stream", "stream -p 2 -s 32768 -c 20000", ""), .program = PROGRAM_LIBRARY,
     .in = "text", .flags = LIBRARY},
    {WORK("the library: decompress a stream", "stream -d -p 2 -c 20000", ""),
     .program = PROGRAM_LIBRARY, .in = "text.gz", .environment = REGION, .flags = LIBRARY},
    {WORK("the library: ranges", "range -s 32768 -c 1", ""), .program = PROGRAM_LIBRARY,
     .in = "text", .flags = LIBRARY},
    {WORK("the library: write a file", "file -p 2 -s 32768 -c 20000 -f text.gz", ""),
     .program = PROGRAM_LIBRARY, .in = "text", .flags = LIBRARY},
    {WORK("the library: write to a pipe", "file -p 2 -s 32768 -c 20000", ""),
     .program = PROGRAM_LIBRARY, .in = "text", .flags = LIBRARY | IN_PIPE | OUT_PIPE},
    {WORK("the library: read a file", "file -d -p 2 -c 20000 -f text.gz", "text.gz=text.gz"),
     .program = PROGRAM_LIBRARY, .environment = REGION, .flags = LIBRARY},
    {WORK("the library: read a descriptor", "file -d -p 2 -c 20000", ""),
     .program = PROGRAM_LIBRARY, .in = "text.gz", .environment = REGION, .flags = LIBRARY},
    {WORK("the library: a reader by marks", "reader -c 5000", ""), .program = PROGRAM_LIBRARY,
     .in = "text.gz", .flags = LIBRARY},
    {WORK("the library: a reader by an index", "reader -c 5000 -x text.gz.gzi",
          "text.gz.gzi=text.gz.gzi"),
     .program = PROGRAM_LIBRARY, .in = "text.gz", .flags = LIBRARY},
    {WORK("the library: a reader without help", "reader -c 5000", ""), .program = PROGRAM_LIBRARY,
     .in = "solid.gz", .flags = LIBRARY},
    {WORK("the library: a reader of memory", "places -c 5000", ""), .program = PROGRAM_LIBRARY,
     .in = "text.gz", .flags = LIBRARY},
    {WORK("ranks", "-k -b 32 text", "text=text"), .program = PROGRAM_RANKS,
     .environment = "GZLZSS_TEST_MPI_WAVE=65536 FAULT_OWN=1 FAULT_RANK=1", .flags = SLOW},
    {.name = NULL},
};

/* --- The faults ----------------------------------------------------------------------------- */

/* Errors of a call, and whether all later calls fail, too. */
struct row {
    enum call call;
    const char *errors; /* separated by blanks */
};

#define ALL "EIO ENOSPC EINTR EAGAIN ENOMEM EDQUOT EIO+ ENOSPC+ ENOMEM+ EDQUOT+ EINTR/ "
#define SOME "EIO EINTR ENOMEM EIO+ ENOMEM+ EINTR/ "
#define PARTS "EAGAIN/ short short+ short/ "

static const struct row rows[] = {
    {CALL_read, ALL PARTS},
    {CALL_pread, ALL PARTS},
    {CALL_write, ALL PARTS},
    {CALL_writev, ALL PARTS "EFBIG EPIPE EROFS+"},
    {CALL_pwrite, ALL PARTS},
    {CALL_tee, SOME PARTS "EINVAL"},
    {CALL_splice, SOME PARTS "EINVAL"},
    {CALL_close, ALL},
    {CALL_fsync, ALL "EINVAL+"},
    {CALL_fchmod, ALL "EPERM+"},
    {CALL_fchown, ALL "EPERM+"},
    {CALL_futimens, ALL "EPERM+"},
    {CALL_fallocate, ALL "EOPNOTSUPP+"},
    {CALL_ftruncate, ALL},
    {CALL_lseek, SOME "EINVAL+"},
    {CALL_fstat, SOME},
    {CALL_fstatfs, SOME "ENOSYS+"},
    {CALL_dup, SOME "EMFILE EMFILE+"},
    {CALL_fcntl, "EIO EINTR EPERM+"},
    {CALL_ioctl, "EIO EINVAL+"},
    {CALL_open, ALL "EMFILE EMFILE+ EACCES ENOENT+"},
    {CALL_openat, ALL "EMFILE EMFILE+ EACCES EROFS EOPNOTSUPP"},
    {CALL_linkat, ALL "EPERM+"},
    {CALL_renameat, ALL "EPERM+"},
    {CALL_renameat2, ALL "ENOSYS+"},
    {CALL_unlinkat, ALL "EPERM+ EACCES"},
    {CALL_mkdir, ALL "EACCES"},
    {CALL_mkdirat, ALL "EACCES"},
    {CALL_fstatat, SOME "ESTALE"},
    {CALL_stat, SOME},
    {CALL_readlink, "EIO ENOMEM+"},
    {CALL_realpath, "EIO ENOMEM+"},
    {CALL_access, "EIO ENOMEM+"},
    {CALL_name_to_handle_at, "EIO EOPNOTSUPP+"},
    {CALL_fdopendir, SOME "EMFILE"},
    {CALL_readdir, "EIO ENOMEM"},
    {CALL_fopen, SOME "EMFILE+"},
    {CALL_fdopen, "ENOMEM+"},
    {CALL_fwrite, "EIO ENOSPC ENOSPC+"},
    {CALL_fflush, "EIO ENOSPC EDQUOT+"},
    {CALL_fclose, "EIO ENOSPC EDQUOT+"},
    {CALL_pipe2, "EMFILE EMFILE+ ENOMEM"},
    {CALL_poll, "EINTR ENOMEM EINTR/"},
    {CALL_getrandom, "EAGAIN ENOSYS+ EINTR"},
    {CALL_dlopen, "ENOENT"},
    {CALL_madvise, "EINVAL+ ENOMEM"},
    {CALL_mmap, "ENOMEM ENOMEM+ EAGAIN"},
    {CALL_pthread_create, "EAGAIN ENOMEM EAGAIN+"},
    {CALL_memory, "ENOMEM ENOMEM+"},
    {CALL_any, "before-TERM before-INT before-KILL after-TERM after-KILL "
               "grow shrink rewrite replace remove move appear"},
};

#define ERROR_SIZE 16

/* Copies word number `number` of `words`.  False if there are fewer words. */
static bool word_at(const char *words, size_t number, char word[ERROR_SIZE])
{
    for (size_t length;; words += length, number--) {
        words += strspn(words, " ");
        length = strcspn(words, " ");
        if (length == 0)
            return false;
        if (number > 0)
            continue;
        memcpy(word, words, length);
        word[length] = '\0';
        return true;
    }
}

static size_t count_words(const char *words)
{
    char word[ERROR_SIZE];
    size_t n = 0;

    while (word_at(words, n, word))
        n++;
    return n;
}

/* The names of `what`, which must stay valid. */
static const char *const whats[] = {
    "EIO",         "ENOSPC",     "EINTR",       "EAGAIN",     "ENOMEM",     "EDQUOT",
    "EFBIG",       "EPIPE",      "EROFS",       "EINVAL",     "EPERM",      "EOPNOTSUPP",
    "ENOSYS",      "EMFILE",     "EACCES",      "ENOENT",     "ESTALE",     "short",
    "before-TERM", "before-INT", "before-KILL", "after-TERM", "after-KILL", "grow",
    "shrink",      "rewrite",    "replace",     "remove",     "move",       "appear",
};

struct fault fault_at(size_t number)
{
    struct fault f = {0};
    char word[ERROR_SIZE];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t words = count_words(rows[i].errors);

        if (number >= words) {
            number -= words;
            continue;
        }
        word_at(rows[i].errors, number, word);
        f.call = rows[i].call;
        if (strpbrk(word, "+/") != NULL) {
            f.mode = *strpbrk(word, "+/");
            *strpbrk(word, "+/") = '\0';
        }
        for (size_t w = 0; w < sizeof(whats) / sizeof(whats[0]); w++)
            if (strcmp(whats[w], word) == 0)
                f.what = whats[w];
        f.is_signal = strchr(f.what, '-') != NULL;
        f.is_change = f.call == CALL_any && !f.is_signal;
        break;
    }
    return f;
}

static bool is_directory(const char *name)
{
    return name[strlen(name) - 1] == '/';
}

static bool change_suits(const struct fault *f, const struct scenario *s)
{
    if (strcmp(f->what, "appear") == 0)
        return s->output != NULL;
    return s->changing != NULL && is_directory(s->changing) == (strcmp(f->what, "move") == 0);
}

static bool is_one_of(enum call call, const enum call *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (calls[i] == call)
            return true;
    return false;
}

bool fault_suits(const struct fault *f, const struct scenario *s)
{
    static const enum call room[] = {CALL_fallocate, CALL_ftruncate, CALL_fstatfs, CALL_lseek};
    static const enum call slow[] = {CALL_read,   CALL_pread,    CALL_writev, CALL_openat,
                                     CALL_memory, CALL_unlinkat, CALL_close,  CALL_pthread_create};

    if (f->is_change)
        return change_suits(f, s);
    if ((s->flags & FEW_CALLS) != 0)
        return is_one_of(f->call, room, sizeof(room) / sizeof(room[0]));
    /* The emulated device ends the program if it has no memory for itself. */
    if (s->program == PROGRAM_EMULATED && f->call == CALL_memory)
        return false;
    if (s->program == PROGRAM_RANKS)
        return f->mode == 0 && (strcmp(f->what, "EIO") == 0 || strcmp(f->what, "EINTR") == 0 ||
                                strcmp(f->what, "short") == 0 || f->call == CALL_memory);
    if ((s->flags & SLOW) != 0)
        return f->is_signal ||
               (f->mode == 0 && is_one_of(f->call, slow, sizeof(slow) / sizeof(slow[0])));
    return true;
}

/* Without these calls, the work goes on. */
static bool is_dispensable(enum call call)
{
    static const enum call calls[] = {CALL_fallocate, CALL_fstatfs,       CALL_tee,
                                      CALL_splice,    CALL_dlopen,        CALL_madvise,
                                      CALL_pipe2,     CALL_pthread_create};

    return is_one_of(call, calls, sizeof(calls) / sizeof(calls[0]));
}

static bool is_transfer(enum call call)
{
    return call == CALL_read || call == CALL_pread || call == CALL_write || call == CALL_writev ||
           call == CALL_pwrite;
}

/* Whether the output may be incomplete on the disk if the call has failed. */
static bool is_essential(const struct fault *f, const struct scenario *s, bool is_output)
{
    const bool is_named = (s->flags & ATOMIC) == 0;

    if (f->call == CALL_fsync)
        return (s->flags & SYNCED) != 0 && strcmp(f->what, "EINVAL") != 0;
    /* The input, the output and its directory are opened. */
    if (f->call == CALL_openat)
        return (s->flags & SYNCED) != 0 && is_named && strcmp(f->what, "EACCES") != 0;
    /* An output that is named when it is complete, such as an index, is closed twice, and the first
     * time counts. */
    return f->call == CALL_close && is_output && is_named && strstr(s->arguments, "index") == NULL;
}

/* Whether the command works on a file again, and then goes on. */
static bool is_tried_again(const struct fault *f)
{
    static const char *const errors[] = {"ENOSPC", "EDQUOT", "EFBIG", "ENOMEM", "EMFILE"};

    for (size_t i = 0; f->mode == 0 && i < sizeof(errors) / sizeof(errors[0]); i++)
        if (strcmp(f->what, errors[i]) == 0)
            return true;
    return false;
}

enum expectation fault_expectation(const struct fault *f, const struct scenario *s, bool is_output)
{
    static const enum call interrupted[] = {
        CALL_read,      CALL_pread,    CALL_write,  CALL_writev,   CALL_pwrite,    CALL_close,
        CALL_fsync,     CALL_fchmod,   CALL_fchown, CALL_futimens, CALL_linkat,    CALL_renameat,
        CALL_renameat2, CALL_unlinkat, CALL_openat, CALL_open,     CALL_ftruncate, CALL_poll};

    /* A decompressing stream of the library needs a thread, and a call that can be cancelled a
     * pipe. */
    if ((f->call == CALL_pthread_create || f->call == CALL_pipe2) && (s->flags & LIBRARY) != 0)
        return MAY_SAY;
    if (strcmp(f->what, "short") == 0 || is_dispensable(f->call))
        return GOES_ON;
    if (strcmp(f->what, "EINTR") == 0 &&
        is_one_of(f->call, interrupted, sizeof(interrupted) / sizeof(interrupted[0])))
        return GOES_ON;
    if (strcmp(f->what, "EAGAIN") == 0 && is_transfer(f->call))
        return GOES_ON;
    return is_essential(f, s, is_output) && !is_tried_again(f) ? MUST_SAY : MAY_SAY;
}
