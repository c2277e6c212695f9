/*
 * messages.h - everything the command says on standard error, and the exit status that follows
 *
 * Messages are GNU gzip's, word for word, after the name the program was called by.  What belongs
 * to one file of many that are worked on side by side is collected, and printed when that file's
 * turn comes, so that it reads as if one had been done after the other.
 */
#ifndef GZLZSS_MESSAGES_H
#define GZLZSS_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

struct progress;

/* gzip's exit statuses. */
enum status { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_WARNING = 2 };

/* One for the command, and one for each file.  All zero but `program` is a good start. */
struct messages {
    const char *program; /* what the command was called by, without directories */
    const char *source;  /* where what is wrong comes from, said before it; NULL: nothing is */
    bool quiet;          /* no warnings, though they count */
    enum status status;
    bool stop; /* gzip would end here, without the operands that are left; for callers to set */

    struct progress *progress; /* whose line is removed before anything is printed, or NULL */

    bool collect; /* keep what is said until msg_flush or msg_discard */
    char *text;   /* this, text[0..length), in `room` bytes */
    size_t length, room;
};

/* Each is one line: "PROGRAM: ", what the format makes, and the line's end.  An error makes the
 * status STATUS_ERROR; a warning makes it STATUS_WARNING if it was STATUS_OK, and is not printed
 * when `quiet`; a note is just printed. */
void msg_error(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void msg_warning(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void msg_note(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error in the data, or in reading or writing it: before it gzip begins a new line. */
void msg_data_error(struct messages *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the format makes, as it is; the status stays. */
void msg_print(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints what was collected and frees it. */
void msg_flush(struct messages *m);

/* Frees what was collected without printing it. */
void msg_discard(struct messages *m);

/* Makes `from`'s status `to`'s, if it is worse. */
void msg_merge_status(struct messages *to, const struct messages *from);

#endif
