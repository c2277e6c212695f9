/*
 * messages.h - prints everything that the command says on standard error; keeps the exit status
 *
 * Messages begin with the name by which the program was called.  The rest is GNU gzip's, word for
 * word.
 *
 * If standard error is a terminal, the arguments of %s are printed without control characters
 * (quote.h).  Use %-s for text of this program that has a newline.
 *
 * When several files are under way, each file's messages are collected.  They are printed when the
 * file's turn comes, so that the text reads as if one file had been done after the other.
 */
#ifndef GZLZSS_MESSAGES_H
#define GZLZSS_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

struct progress;

/* gzip's exit statuses. */
enum status { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_WARNING = 2 };

/* The command has one struct messages, and each file has one, too.  Zero all fields but `program`
 * at first. */
struct messages {
    const char *program; /* the name by which the command was called, without directories */
    /* The environment variable whose options are being read, printed before each message; NULL:
     * none. */
    const char *source;
    bool quotes;        /* quote names even if standard error is no terminal */
    bool quiet;         /* print no warnings; they still change the status */
    enum status status; /* the exit status so far */
    /* Callers set this at places where gzip would end and leave out the other operands. */
    bool stop;

    struct progress *progress; /* the progress line, which is removed before anything is printed;
                                * may be NULL */

    bool collect; /* collect messages until msg_flush or msg_discard */
    char *text;   /* text[0..length): the messages collected, in `room` bytes */
    size_t length, room;
};

/* Whether the program is called by its own name.  Under one of gzip's names, it prints gzip's
 * messages, and no more. */
bool msg_has_own_name(const struct messages *m);

/* Prints an error, one line: "PROGRAM: ", the formatted text, and the line's end.  Sets the status
 * to STATUS_ERROR. */
void msg_error(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a warning in the form of msg_error, unless m->quiet.  Sets the status to STATUS_WARNING if
 * it was STATUS_OK. */
void msg_warning(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a note in the form of msg_error.  The status stays. */
void msg_note(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints an error in the data, or in reading or writing it.  As in gzip, a newline comes before the
 * message.  Sets the status to STATUS_ERROR. */
void msg_data_error(struct messages *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the formatted text as it is.  The status stays. */
void msg_print(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the collected messages and frees them. */
void msg_flush(struct messages *m);

/* Frees the collected messages without printing them. */
void msg_discard(struct messages *m);

/* Copies the status of `from` to `to` if it is worse. */
void msg_merge_status(struct messages *to, const struct messages *from);

#endif
