/*
 * encode.c - makes files of the formats that gunzip reads: encode FORMAT... <DATA >FILE
 *
 *     encode lzw BITS BLOCK CLEAR    .Z of up to BITS bits; BLOCK 1: block mode, CLEAR after so many codes
 *     encode pack LIMIT              pack, with codes of up to LIMIT bits
 *     encode lzh ITEMS               compress -H, with so many items in a block
 *     encode zip METHOD FLAGS        the first entry of a zip file
 */
#include "config.h"

#include "tests/unit/encoders.h"

int main(int argc, char **argv)
{
    struct bytes in = {0}, out = {0};
    uint8_t buffer[4096];
    size_t n;
    unsigned p[3] = {0};

    for (int i = 2; i < argc && i < 5; i++)
        p[i - 2] = (unsigned)strtoul(argv[i], NULL, 0);
    while ((n = fread(buffer, 1, sizeof buffer, stdin)) != 0)
        add(&in, buffer, n);
    if (argc == 5 && strcmp(argv[1], "lzw") == 0)
        encode_lzw(&out, in.data, in.len, &(struct lzw_options){p[0], p[1] != 0, p[2]});
    else if (argc == 3 && strcmp(argv[1], "pack") == 0)
        encode_pack(&out, in.data, in.len, p[0]);
    else if (argc == 3 && strcmp(argv[1], "lzh") == 0)
        encode_lzh(&out, in.data, in.len, p[0]);
    else if (argc == 4 && strcmp(argv[1], "zip") == 0)
        encode_zip(&out, in.data, in.len, p[0], p[1]);
    else
        return fprintf(stderr, "usage: encode lzw|pack|lzh|zip PARAMETER...\n"), 2;
    fwrite(out.data, 1, out.len, stdout);
    drop(&in);
    drop(&out);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
