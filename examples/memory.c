/*
 * memory.c - compress a string in memory, and decompress it again
 *
 *   cc memory.c $(pkg-config --cflags --libs gzlzss) -o memory && ./memory 'some words' >words.gz
 */
#include <gzlzss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "Hello.\n";
    size_t len = strlen(text), packed_len, back_len = len;
    char *packed, *back = malloc(len + 1);
    gzlzss *z;
    gzlzss_status status = gzlzss_new(&z, NULL);

    if (status != GZLZSS_OK) {
        fprintf(stderr, "memory: %s\n", gzlzss_status_text(status));
        return 1;
    }
    packed_len = gzlzss_bound(z, len);
    packed = malloc(packed_len);
    if (packed == NULL || back == NULL) {
        perror("memory");
        return 1;
    }
    status = gzlzss_compress(z, packed, &packed_len, text, len, NULL);
    if (status == GZLZSS_OK)
        status = gzlzss_decompress(z, back, &back_len, packed, packed_len, NULL);
    gzlzss_free(z);
    if (status != GZLZSS_OK) {
        fprintf(stderr, "memory: %s\n", gzlzss_status_text(status));
        return 1;
    }
    if (back_len != len || memcmp(back, text, len) != 0) {
        fprintf(stderr, "memory: what came back is not what went in\n");
        return 1;
    }
    if (fwrite(packed, 1, packed_len, stdout) != packed_len || fflush(stdout) != 0) {
        perror("memory");
        return 1;
    }
    free(packed);
    free(back);
    return 0;
}
