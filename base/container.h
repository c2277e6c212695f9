/*
 * container.h - the formats that contain DEFLATE data
 */
#ifndef GZLZSS_BASE_CONTAINER_H
#define GZLZSS_BASE_CONTAINER_H

/* The numbers are those of enum gzlzss_format (include/gzlzss.h). */
enum container {
    CONTAINER_GZIP, /* RFC 1952 */
    CONTAINER_ZLIB, /* RFC 1950 */
    CONTAINER_RAW,  /* DEFLATE alone (RFC 1951): no header, no check value */
    CONTAINER_BGZF, /* gzip, as members of at most 64 KiB that give their sizes (base/bgzf.h) */
    CONTAINER_ZIP,  /* a zip file with one entry */
};

#endif
