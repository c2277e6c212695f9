/*
 * status.h - the outcome of a decompression, and the messages about it
 */
#ifndef GZLZSS_COMPAT_STATUS_H
#define GZLZSS_COMPAT_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gz_format {
    GZ_FORMAT_NONE,       /* no member was found */
    GZ_FORMAT_GZIP,       /* RFC 1952, also with the magic number of gzip 0.5 and before */
    GZ_FORMAT_COMPRESS,   /* .Z */
    GZ_FORMAT_PACK,       /* .z of System V */
    GZ_FORMAT_LZH,        /* SCO's compress -H */
    GZ_FORMAT_ZLIB,       /* RFC 1950 */
    GZ_FORMAT_RAW,        /* DEFLATE alone */
    GZ_FORMAT_ZIP,        /* a zip file whose first entry is deflated */
    GZ_FORMAT_ZIP_STORED, /* a zip file whose first entry is stored */
    GZ_FORMAT_UNKNOWN     /* anything else */
};

enum gz_status {
    GZ_OK,
    GZ_TRAILING_GARBAGE,  /* all data is there and right; something follows it */
    GZ_MORE_ENTRIES,      /* zip: all data of the first entry is right; another entry follows it */
    GZ_NOT_GZIP,          /* the first bytes are no magic number */
    GZ_NOT_ZLIB,          /* the first bytes are no zlib header */
    GZ_DICTIONARY,        /* zlib: the data was compressed with a dictionary */
    GZ_UNKNOWN_METHOD,    /* a member's compression method is not 8, deflate */
    GZ_ENCRYPTED,         /* a member has the header flag that once meant "encrypted" */
    GZ_RESERVED_FLAGS,    /* a member has a reserved header flag set */
    GZ_TRUNCATED,         /* the input ended inside a member */
    GZ_BAD_DATA,          /* the DEFLATE stream is not valid */
    GZ_BAD_HEADER_CRC,    /* the header's own CRC-16 does not match */
    GZ_BAD_CRC,           /* the data does not have the CRC that is stored with it */
    GZ_BAD_ADLER,         /* zlib: the data does not have the Adler-32 that is stored with it */
    GZ_BAD_LENGTH,        /* the data does not have the length that is stored with it */
    GZ_TOO_MANY_BITS,     /* compress: codes of more than 16 bits */
    GZ_CORRUPT,           /* compress: a code that is not in the table yet */
    GZ_CORRUPT_START,     /* compress: the first code does not stand for a byte */
    GZ_BAD_CODE_LENGTH,   /* pack: Huffman codes of no bits, or more than 25 */
    GZ_TOO_MANY_LEAVES,   /* pack: more Huffman codes than the tree has leaves */
    GZ_TOO_FEW_LEAVES,    /* pack: the Huffman codes are incomplete */
    GZ_BAD_PACK_LENGTH,   /* pack: the data does not have the length that is stored before it */
    GZ_BAD_TABLE,         /* lzh: the Huffman codes are not valid */
    GZ_BAD_ZIP,           /* zip: the input ended inside the header */
    GZ_ZIP_METHOD,        /* zip: neither deflated nor stored */
    GZ_ZIP_ENCRYPTED,     /* zip: encrypted */
    GZ_BAD_STORED_LENGTH, /* zip: stored data whose compressed and original sizes differ */
    GZ_READ_ERROR,        /* read() failed, with errno set */
    GZ_WRITE_ERROR,       /* write() failed, with errno set */
    GZ_NO_MEMORY,
};

/* The longest name in a header that gzip -N accepts, in bytes, with the zero byte after it. */
#define GZ_NAME_SIZE 1024

/* The results of a decompression.  They are valid after any status.  gz_read_header() sets only the
 * fields about the first header (`format`, `mtime`, the name) and, after an error, the fields about
 * the error. */
struct gz_info {
    /* The format of the last member that was begun; GZ_FORMAT_UNKNOWN if unknown data was
     * copied. */
    enum gz_format format;
    /* Compressed bytes used, without trailing zeros and garbage.  After an error, roughly the
     * position of the error. */
    uint64_t in_bytes;
    /* Bytes that io->read has returned, used or not. */
    uint64_t read_bytes;
    /* Bytes written. */
    uint64_t out_bytes;
    /* Members that were decoded completely, with correct trailers. */
    uint64_t members;
    /* The bytes of in_bytes that are in DEFLATE streams: no headers, no trailers. */
    uint64_t deflate_bytes;

    /* `gzip -l` shows the fields below: "compressed" is read_bytes; "uncompressed" is member_bytes;
     * the ratio is 1 - (read_bytes - header_bytes) / member_bytes; "crc" is `crc`, or
     * ffffffffffffffff if has_crc is false. */

    /* Bytes of the input before the last member that was begun. */
    uint64_t member_at;
    /* Bytes decoded from the last member. */
    uint64_t member_bytes;
    /* Bytes of header and trailer, if the input is a single gzip member and nothing follows it;
     * else 0. */
    uint64_t header_bytes;
    /* The CRC stored with the last member.  It is valid if has_crc is true; only gzip members have
     * a CRC. */
    uint32_t crc;
    bool has_crc;

    /* The first member's time stamp, 0 if there is none. */
    uint32_t mtime;
    /* Whether the first member's header has a name. */
    bool has_name;
    /* Whether the name is longer than GZ_NAME_SIZE - 1 bytes; `name` has its first bytes. */
    bool name_cut;
    /* The name as it is stored, directories and all.  Never trust it. */
    char name[GZ_NAME_SIZE];

    /* Whether zero bytes follow the last member. */
    bool zeros_follow;
    /* With GZ_TRUNCATED: whether all members are complete, and only one more byte follows, which
     * cannot start a member.  With gz_io.skip_zeros, it may be one that can. */
    bool lone_byte;
    /* Whether the stored length is wrong.  May be true with GZ_BAD_CRC, too. */
    bool bad_length;
    /* zip: whether another entry follows.  May be true with GZ_BAD_CRC and GZ_BAD_LENGTH, too. */
    bool more_entries;
    /* With GZ_RESERVED_FLAGS: all flags of the header.  In compress's format: the unknown flags,
     * about which GNU gzip warns. */
    uint8_t unknown_flags;
    /* With GZ_UNKNOWN_METHOD: the method.  With GZ_TOO_MANY_BITS: the bits of the widest codes. */
    uint8_t unknown;
    /* With GZ_BAD_HEADER_CRC: the stored CRC and the correct one. */
    uint16_t header_crc[2];
    /* With GZ_BAD_STORED_LENGTH: the compressed and the original size in the header. */
    uint32_t zip_packed, zip_size;
};

/* Whether several threads can decompress a file of this format. */
static inline bool gz_is_deflate(enum gz_format format)
{
    return format == GZ_FORMAT_GZIP || format == GZ_FORMAT_ZLIB || format == GZ_FORMAT_RAW;
}

/* --- Messages ------------------------------------------------------------------------------- */

/* The name of a format in `gzip -lv`: "defla", "compr", "pack", "lzh", "store". */
const char *gz_format_name(enum gz_format format);

/* Describes a status, in GNU gzip's words if it has some ("unexpected end of file"), but without
 * numbers.  After GZ_READ_ERROR and GZ_WRITE_ERROR, strerror(errno) says more. */
const char *gz_status_message(enum gz_status status);

/* One message.  GNU gzip 1.12 prints `before`, "gzip: ", the input's name and `after`. */
struct gz_complaint {
    /* Nothing, or an empty line; for GZ_BAD_STORED_LENGTH, a line of text and an empty line. */
    char before[48];
    /* Begins with ": " or " ".  Ends with one newline, or for GZ_BAD_TABLE with two. */
    char after[96];
    /* Whether this is a warning.  -q suppresses a warning, and the exit status after it is 2.  If
     * it is not a warning, it is an error, after which the exit status is 1. */
    bool warning;
    /* Whether the warning is printed only with -v. */
    bool verbose;
};

#define GZ_COMPLAINTS_MAX 4

/*
 * Puts all messages that GNU gzip prints into `list`, in its order, and returns their number.
 * to_stdout: whether the output is the standard output, or the program writes no output (-c, -t,
 * -l, standard input).  Where gzip prints strerror() for a status, the list has one complaint with
 * gz_status_message() instead.
 */
size_t gz_complaints(enum gz_status status, const struct gz_info *info, bool to_stdout,
                     struct gz_complaint list[GZ_COMPLAINTS_MAX]);

/* Whether the caller must throw the output away and exit with status 1.  Returns true for all
 * statuses except GZ_OK, GZ_TRAILING_GARBAGE and, if to_stdout is true (gz_complaints),
 * GZ_MORE_ENTRIES. */
bool gz_status_is_error(enum gz_status status, bool to_stdout);

/* Whether GNU gzip ends after this status, with exit status 1, and ignores the remaining operands.
 * discard: whether the program writes no output (-t and -l).  If it is true, gzip goes on after
 * data that is complete but has the wrong CRC or length. */
bool gz_status_is_fatal(enum gz_status status, bool to_stdout, bool discard);

#endif
