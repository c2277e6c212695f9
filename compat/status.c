/*
 * status.c - messages about the outcome of a decompression (status.h)
 *
 * The messages, and the effects of a status, are those of GNU gzip 1.12.  To add a status, run gzip
 * with two operands, the first of them damaged, and see whether it goes on to the second.  The rows
 * of `table` were made in this way.
 */
#include "config.h"

#include "compat/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *gz_format_name(enum gz_format format)
{
    switch (format) {
    case GZ_FORMAT_GZIP:
    case GZ_FORMAT_ZIP:
    case GZ_FORMAT_ZLIB:
    case GZ_FORMAT_RAW:
        return "defla";
    case GZ_FORMAT_COMPRESS:
        return "compr";
    case GZ_FORMAT_PACK:
        return "pack";
    case GZ_FORMAT_LZH:
        return "lzh";
    case GZ_FORMAT_ZIP_STORED:
    case GZ_FORMAT_UNKNOWN:
        return "store";
    case GZ_FORMAT_NONE:
        break;
    }
    return "";
}

/* What the program does after a status. */
enum effect {
    /* The program goes on, because this is no error. */
    NONE,
    /* The program goes on with the next operand. */
    NEXT,
    /* NEXT if nothing is written (-t, -l), else END. */
    CHECK,
    /* A warning if the output is the standard output, or if the program writes no output; else
     * END. */
    TO_FILE,
    /* The program ends. */
    END,
};

static const struct outcome {
    const char *message;
    enum effect effect;
    /* Whether an empty line comes before the message. */
    bool blank;
} table[] = {
    [GZ_OK] = {"OK", NONE, false},
    [GZ_TRAILING_GARBAGE] = {"decompression OK, trailing garbage ignored", NONE, true},
    [GZ_MORE_ENTRIES] = {"has more than one entry", TO_FILE, false},
    [GZ_NOT_GZIP] = {"not in gzip format", NEXT, true},
    [GZ_NOT_ZLIB] = {"not in zlib format", NEXT, true},
    [GZ_DICTIONARY] = {"needs a dictionary -- not supported", NEXT, true},
    [GZ_UNKNOWN_METHOD] = {"unknown method -- not supported", NEXT, false},
    [GZ_ENCRYPTED] = {"is encrypted -- not supported", NEXT, false},
    [GZ_RESERVED_FLAGS] = {"reserved header flags -- not supported", NEXT, false},
    [GZ_TRUNCATED] = {"unexpected end of file", END, true},
    [GZ_BAD_DATA] = {"invalid compressed data--format violated", END, true},
    [GZ_BAD_HEADER_CRC] = {"header checksum is wrong", NEXT, false},
    [GZ_BAD_CRC] = {"invalid compressed data--crc error", CHECK, true},
    [GZ_BAD_ADLER] = {"invalid compressed data--Adler-32 error", CHECK, true},
    [GZ_BAD_LENGTH] = {"invalid compressed data--length error", CHECK, true},
    [GZ_TOO_MANY_BITS] = {"compressed with too many bits", NEXT, true},
    [GZ_CORRUPT] = {"corrupt input.", END, true},
    [GZ_CORRUPT_START] = {"corrupt input.", END, true},
    [GZ_BAD_CODE_LENGTH] = {"invalid compressed data -- Huffman code bit length out of range", END,
                            true},
    [GZ_TOO_MANY_LEAVES] = {"too many leaves in Huffman tree", END, true},
    [GZ_TOO_FEW_LEAVES] = {"too few leaves in Huffman tree", END, true},
    [GZ_BAD_PACK_LENGTH] = {"invalid compressed data--length error", END, true},
    [GZ_BAD_TABLE] = {"Bad table", END, true},
    [GZ_BAD_ZIP] = {"not a valid zip file", NEXT, true},
    [GZ_ZIP_METHOD] = {"first entry not deflated or stored -- use unzip", NEXT, true},
    [GZ_ZIP_ENCRYPTED] = {"encrypted file -- use unzip", NEXT, true},
    [GZ_BAD_STORED_LENGTH] = {"invalid compressed data--length mismatch", END, true},
    [GZ_READ_ERROR] = {"read error", END, true},
    [GZ_WRITE_ERROR] = {"write error", END, true},
    [GZ_NO_MEMORY] = {"memory exhausted", END, false},
    {"unknown error", END, true},
};

static const struct outcome *outcome_of(enum gz_status status)
{
    const size_t last = sizeof table / sizeof table[0] - 1;
    return &table[(size_t)status < last ? (size_t)status : last];
}

const char *gz_status_message(enum gz_status status)
{
    return outcome_of(status)->message;
}

bool gz_status_is_error(enum gz_status status, bool to_stdout)
{
    const enum effect effect = outcome_of(status)->effect;
    return effect != NONE && !(effect == TO_FILE && to_stdout);
}

bool gz_status_is_fatal(enum gz_status status, bool to_stdout, bool discard)
{
    switch (outcome_of(status)->effect) {
    case NONE:
    case NEXT:
        return false;
    case CHECK:
        return !discard;
    case TO_FILE:
        return !to_stdout;
    case END:
        break;
    }
    return true;
}

/* The list of complaints that is being made. */
struct composer {
    struct gz_complaint *list;
    size_t n;
};

/* Adds a complaint. */
__attribute__((format(printf, 4, 5))) static void complain(struct composer *c, const char *before,
                                                           bool warning, const char *format, ...)
{
    struct gz_complaint *complaint = &c->list[c->n++];
    va_list arguments;

    *complaint = (struct gz_complaint){.warning = warning};
    snprintf(complaint->before, sizeof complaint->before, "%s", before);
    va_start(arguments, format);
    vsnprintf(complaint->after, sizeof complaint->after, format, arguments);
    va_end(arguments);
}

/* Adds the complaint about a status that is not GZ_OK. */
static void complain_of_status(struct composer *c, enum gz_status status,
                               const struct gz_info *info, bool to_stdout)
{
    const char *message = gz_status_message(status);
    const char *before = outcome_of(status)->blank ? "\n" : "";
    char sizes[48];

    switch (status) {
    case GZ_UNKNOWN_METHOD:
        complain(c, before, false, ": unknown method %u -- not supported\n", info->unknown);
        return;
    case GZ_ENCRYPTED:
        complain(c, before, false, " %s\n", message);
        return;
    case GZ_RESERVED_FLAGS:
        complain(c, before, false, " has flags 0x%x -- not supported\n", info->unknown_flags);
        return;
    case GZ_BAD_HEADER_CRC:
        complain(c, before, false, ": header checksum 0x%04x != computed checksum 0x%04x\n",
                 info->header_crc[0], info->header_crc[1]);
        return;
    case GZ_TOO_MANY_BITS:
        complain(c, before, false, ": compressed with %u bits, can only handle 16 bits\n",
                 info->unknown);
        return;
    case GZ_CORRUPT:
        complain(c, before, false, ": %s%s\n", message,
                 to_stdout ? "" : " Use zcat to recover some data.");
        return;
    case GZ_BAD_TABLE:
        complain(c, before, false, ": %s\n\n", message);
        return;
    case GZ_BAD_STORED_LENGTH:
        snprintf(sizes, sizeof sizes, "len %lu, siz %lu\n\n", (unsigned long)info->zip_size,
                 (unsigned long)info->zip_packed);
        complain(c, sizes, false, ": %s\n", message);
        return;
    default:
        complain(c, before, status == GZ_TRAILING_GARBAGE, ": %s\n", message);
    }
}

size_t gz_complaints(enum gz_status status, const struct gz_info *info, bool to_stdout,
                     struct gz_complaint list[GZ_COMPLAINTS_MAX])
{
    struct composer c = {.list = list};

    if (info->unknown_flags != 0 && status != GZ_RESERVED_FLAGS)
        complain(&c, "\n", true, ": warning, unknown flags 0x%x\n", info->unknown_flags);
    if (status == GZ_OK && info->zeros_follow) {
        complain(&c, "\n", true, ": decompression OK, trailing zero bytes ignored\n");
        list[c.n - 1].verbose = true;
    }
    if (status != GZ_OK && status != GZ_MORE_ENTRIES)
        complain_of_status(&c, status, info, to_stdout);
    if (status == GZ_BAD_CRC && info->bad_length)
        complain_of_status(&c, GZ_BAD_LENGTH, info, to_stdout);
    if (info->more_entries)
        complain(&c, "", to_stdout, " has more than one entry%s\n",
                 to_stdout ? "--rest ignored" : " -- unchanged");
    return c.n;
}
