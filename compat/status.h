/*
 * status.h - what comes of a decompression, and what to say about it
 */
#ifndef GZLZSS_COMPAT_STATUS_H
#define GZLZSS_COMPAT_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gz_format {
    GZ_FORMAT_NONE,       /* nothing was read */
    GZ_FORMAT_GZIP,       /* RFC 1952, also by the magic number that gzip 0.5 and before used */
    GZ_FORMAT_COMPRESS,   /* .Z */
    GZ_FORMAT_PACK,       /* .z of System V */
    GZ_FORMAT_LZH,        /* SCO's compress -H */
    GZ_FORMAT_ZIP,        /* a zip file whose first entry is deflated */
    GZ_FORMAT_ZIP_STORED, /* and one whose first entry is stored */
    GZ_FORMAT_UNKNOWN     /* anything else */
};

enum gz_status {
    GZ_OK,
    GZ_TRAILING_GARBAGE,  /* all data is there and right; something follows it */
    GZ_MORE_ENTRIES,      /* zip: all data of the first entry is right; another entry follows it */
    GZ_NOT_GZIP,          /* the first bytes are no magic number */
    GZ_UNKNOWN_METHOD,    /* a member's compression method is not 8, deflate */
    GZ_ENCRYPTED,         /* a member has the header flag that once meant it was encrypted */
    GZ_RESERVED_FLAGS,    /* a member has a reserved header flag set */
    GZ_TRUNCATED,         /* the input ended inside a member */
    GZ_BAD_DATA,          /* the DEFLATE stream is not valid */
    GZ_BAD_HEADER_CRC,    /* the header's own CRC-16 does not match */
    GZ_BAD_CRC,           /* the data does not have the CRC that is stored with it */
    GZ_BAD_LENGTH,        /* the data does not have the length that is stored with it */
    GZ_TOO_MANY_BITS,     /* compress: codes of more than 16 bits */
    GZ_CORRUPT,           /* compress: a code that cannot come here */
    GZ_CORRUPT_START,     /* compress: and it is the very first */
    GZ_BAD_CODE_LENGTH,   /* pack: Huffman codes of no bits, or more than 25 */
    GZ_TOO_MANY_LEAVES,   /* pack: more codes than there can be */
    GZ_TOO_FEW_LEAVES,    /* pack: not all codes are used */
    GZ_BAD_PACK_LENGTH,   /* pack: the data does not have the length that is stored before it */
    GZ_BAD_TABLE,         /* lzh: Huffman codes that do not fit together */
    GZ_BAD_ZIP,           /* zip: the input ended inside the header */
    GZ_ZIP_METHOD,        /* zip: neither deflated nor stored */
    GZ_ZIP_ENCRYPTED,     /* zip: encrypted */
    GZ_BAD_STORED_LENGTH, /* zip: stored data whose compressed and original sizes differ */
    GZ_READ_ERROR,        /* read() failed, with errno set */
    GZ_WRITE_ERROR,       /* write() failed, with errno set */
    GZ_NO_MEMORY,
};

/* Room for the longest name in a header that gzip -N accepts, and the zero byte behind it. */
#define GZ_NAME_SIZE 1024

/* What was found; valid whatever the status.  After gz_read_header(), what the first header told:
 * `format`, `mtime`, the name and, after an error, what describes it. */
struct gz_info {
    enum gz_format format; /* of the last member that was begun; GZ_FORMAT_UNKNOWN if unknown data
                              is being copied */
    uint64_t in_bytes;   /* compressed bytes used, trailing zeros and garbage not counted; after an
                              error, about where it was found */
    uint64_t read_bytes; /* bytes got from io->read, whether or not they were used */
    uint64_t out_bytes;  /* bytes written */
    uint64_t members;    /* whole ones, their trailers checked */
    uint64_t deflate_bytes; /* of in_bytes, those of DEFLATE streams: no headers, no trailers */

    /* What `gzip -l` shows.  "compressed" is read_bytes; "uncompressed" is member_bytes, and the
     * ratio is 1 - (read_bytes - header_bytes) / member_bytes; "crc" is ffffffffffffffff where
     * there is none. */
    uint64_t member_bytes; /* decoded from the last member */
    uint64_t header_bytes; /* of a gzip member's header and trailer if it is the first and nothing
                              follows it, else 0 */
    uint32_t crc;          /* as stored with the last member, */
    bool has_crc;          /* if it was a gzip member */

    uint32_t mtime; /* the first member's time stamp, 0 if it has none */
    bool has_name;  /* the first member's header has a name: */
    bool name_cut;  /* which is longer than GZ_NAME_SIZE - 1 bytes; this is where it starts */
    char name[GZ_NAME_SIZE]; /* as it is stored, directories and all: never to be trusted */

    bool zeros_follow;     /* zero bytes follow the last member */
    bool lone_byte;        /* with GZ_TRUNCATED: all members are whole, and the input ends with one
                              byte behind them that starts no other */
    bool bad_length;       /* the length is wrong; also with GZ_BAD_CRC */
    bool more_entries;     /* zip: another entry follows; also with GZ_BAD_CRC and GZ_BAD_LENGTH */
    uint8_t unknown_flags; /* with GZ_RESERVED_FLAGS, all flags; compress: unknown ones, for which
                               GNU gzip has a warning */
    uint8_t unknown;       /* with GZ_UNKNOWN_METHOD, the method; with GZ_TOO_MANY_BITS, the bits */
    uint16_t header_crc[2];        /* with GZ_BAD_HEADER_CRC, the one stored and the right one */
    uint32_t zip_packed, zip_size; /* with GZ_BAD_STORED_LENGTH, the sizes */
};

/* --- What to say about it ------------------------------------------------------------------- */

/* How `gzip -lv` calls a format: "defla", "compr", "pack", "lzh", "store". */
const char *gz_format_name(enum gz_format format);

/* What happened, as GNU gzip words it where it has words for it ("unexpected end of file"), but
 * without numbers.  After GZ_READ_ERROR and GZ_WRITE_ERROR, strerror(errno) says more. */
const char *gz_status_message(enum gz_status status);

/* One message, as GNU gzip 1.12 prints it: `before`, "gzip: ", the input's name, `after`. */
struct gz_complaint {
    char before[48]; /* empty, an empty line or, for GZ_BAD_STORED_LENGTH, another line and one */
    char after[96];  /* begins with ": " or " ", ends with a newline or, for GZ_BAD_TABLE, two */
    bool warning;    /* -q suppresses it, and the exit status is 2; else an error, 1 */
    bool verbose;    /* a warning that only -v asks for: otherwise it is not there at all */
};

#define GZ_COMPLAINTS_MAX 4

/*
 * All that GNU gzip has to say, in its order, into list; returns how many.  to_stdout: the output
 * is the standard output or there is none (-c, -t, -l, standard input).  The statuses for which
 * gzip has strerror() say something get one complaint with gz_status_message() in its place.
 */
size_t gz_complaints(enum gz_status status, const struct gz_info *info, bool to_stdout,
                     struct gz_complaint list[GZ_COMPLAINTS_MAX]);

/* Whether the output is to be thrown away and the exit status is 1: all but GZ_OK,
 * GZ_TRAILING_GARBAGE and, where the output is the standard output or there is none,
 * GZ_MORE_ENTRIES. */
bool gz_status_is_error(enum gz_status status, bool to_stdout);

/*
 * Whether GNU gzip ends here, with exit status 1, and never looks at the operands that follow.
 * discard: nothing is written (-t and -l), which lets it go on after data that is complete but has
 * the wrong CRC or length.
 */
bool gz_status_is_fatal(enum gz_status status, bool to_stdout, bool discard);

#endif
