/*
 * report.c - what --json says about a file (report.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/json.h"
#include "src/report.h"

/* The format's name; NULL if it is not known. */
static const char *name_of(enum gz_format format)
{
    switch (format) {
    case GZ_FORMAT_GZIP:
        return "gzip";
    case GZ_FORMAT_COMPRESS:
        return "compress";
    case GZ_FORMAT_PACK:
        return "pack";
    case GZ_FORMAT_LZH:
        return "lzh";
    case GZ_FORMAT_ZLIB:
        return "zlib";
    case GZ_FORMAT_RAW:
        return "raw";
    case GZ_FORMAT_ZIP:
    case GZ_FORMAT_ZIP_STORED:
        return "zip";
    default:
        return NULL;
    }
}

/* Adds the results of work that succeeded. */
static void add_result(struct json *j, const struct file_result *r)
{
    const double packed = (double)r->compressed, original = (double)r->uncompressed;
    char crc[16];

    json_string(j, "format", r->is_bgzf ? "bgzf" : name_of(r->format));
    json_integer(j, "compressed", r->compressed);
    json_integer(j, "uncompressed", r->uncompressed);
    json_decimal(j, "ratio", r->uncompressed > 0 ? (original - packed) / original : 0, 4);
    json_integer(j, "members", r->members);
    if (r->has_crc) {
        snprintf(crc, sizeof(crc), "%08lx", (unsigned long)r->crc);
        json_string(j, "crc", crc);
    }
    json_string(j, "engine", r->engine);
    if (r->is_verified)
        json_bool(j, "verified", true);
}

void report_make(struct file *f)
{
    const bool has_output = f->output.kind != OUTPUT_NONE || f->o->action == ACTION_LIST;
    struct json j = {0};

    if (!f->o->json || !f->result.has_ended)
        return;
    json_string(&j, "name", f->is_stdin ? "-" : f->name);
    if (has_output)
        json_string(&j, "output", f->output_name);
    if (f->result.is_known)
        add_result(&j, &f->result);
    json_decimal(&j, "seconds", f->result.seconds, 6);
    f->report = json_end(&j);
    if (f->report == NULL)
        file_out_of_memory(f);
}

/* Whether standard output gets data, so that reports go to standard error. */
static bool stdout_has_data(const struct options *o)
{
    return (o->action == ACTION_COMPRESS || o->action == ACTION_DECOMPRESS) &&
           (o->to_stdout || (o->output == NULL && options_read_stdin(o)));
}

/* Prints the report, with the status added at its end. */
static void print(struct messages *m, const struct file *f, const char *report)
{
    const int length = (int)strlen(report) - 1, status = f->m.status;

    if (stdout_has_data(f->o)) {
        msg_print(m, "%.*s,\"status\":%d}\n", length, report, status);
        return;
    }
    printf("%.*s,\"status\":%d}\n", length, report, status);
    fflush(stdout); /* another program may wait for the report */
}

void report_print(struct messages *m, struct file *f)
{
    if (!f->o->json)
        return;
    /* The file was left alone, with a message that changes the status, so no report was made. */
    if (f->report == NULL && f->m.status != STATUS_OK) {
        struct json j = {0};

        json_string(&j, "name", f->operand);
        f->report = json_end(&j);
    }
    if (f->report != NULL)
        print(m, f, f->report);
    free(f->report);
    f->report = NULL;
}
