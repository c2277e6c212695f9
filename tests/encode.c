/*
 * encode.c - makes files of the formats that gunzip reads, and damages them
 *
 *     encode lzw BITS BLOCK CLEAR <DATA   .Z of up to BITS bits; with BLOCK 1, in block mode, with
 *                                         a CLEAR after every CLEAR codes, if that is not 0
 *     encode pack LIMIT <DATA             pack, with Huffman codes of up to LIMIT bits
 *     encode lzh ITEMS <DATA              compress -H, with ITEMS items in a block
 *     encode zip METHOD FLAGS <DATA       the first entry of a zip file
 *     encode damage SEED COUNT PREFIX <FILE
 *                                         COUNT damaged copies, called PREFIX1, PREFIX2, ...
 *
 *     encode cut PREFIX <FILE             a copy of each shorter length: PREFIX0, PREFIX1, ...
 *
 * `encode damage` and `encode cut` write files.  All other calls write to standard output.
 */
#include "config.h"

#include "tests/unit/encoders.h"

static bool write_file(const char *prefix, unsigned number, const struct bytes *data)
{
    char name[256];
    snprintf(name, sizeof name, "%s%u", prefix, number);
    FILE *file = fopen(name, "wb");
    if (file == NULL)
        return false;
    const bool ok = data->len == 0 || fwrite(data->data, 1, data->len, file) == data->len;
    return fclose(file) == 0 && ok;
}

static bool write_cut(const struct bytes *in, const char *prefix)
{
    struct bytes part = *in;

    for (part.len = 0; part.len < in->len; part.len++)
        if (!write_file(prefix, (unsigned)part.len, &part))
            return false;
    return true;
}

static bool write_damaged(const struct bytes *in, unsigned seed, unsigned count, const char *prefix)
{
    uint64_t state = seed;

    for (unsigned i = 1; i <= count; i++) {
        struct bytes copy = {0};
        add(&copy, in->data, in->len);
        damage(&copy, &state);
        const bool ok = write_file(prefix, i, &copy);
        drop(&copy);
        if (!ok)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bytes in = {0}, out = {0};
    uint8_t buffer[4096];
    unsigned p[3] = {0};
    bool ok = true;

    for (int i = 2; i < argc && i < 5; i++)
        p[i - 2] = (unsigned)strtoul(argv[i], NULL, 0);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, stdin)) != 0;)
        add(&in, buffer, n);
    if (argc == 5 && strcmp(argv[1], "lzw") == 0)
        encode_lzw(&out, in.data, in.len, &(struct lzw_options){p[0], p[1] != 0, p[2]});
    else if (argc == 3 && strcmp(argv[1], "pack") == 0)
        encode_pack(&out, in.data, in.len, p[0]);
    else if (argc == 3 && strcmp(argv[1], "lzh") == 0)
        encode_lzh(&out, in.data, in.len, p[0]);
    else if (argc == 4 && strcmp(argv[1], "zip") == 0)
        encode_zip(&out, in.data, in.len, p[0], p[1]);
    else if (argc == 5 && strcmp(argv[1], "damage") == 0)
        ok = write_damaged(&in, p[0], p[1], argv[4]);
    else if (argc == 3 && strcmp(argv[1], "cut") == 0)
        ok = write_cut(&in, argv[2]);
    else
        ok = false;
    if (ok && out.len != 0)
        ok = fwrite(out.data, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    drop(&in);
    drop(&out);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
