/*
 * devices.c - prints the GPUs for --list-devices (devices.h)
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/gpu.h"
#include "src/devices.h"
#include "src/json.h"

static void print_text(int number, const struct gpu_description *d)
{
    if (d->error[0] != '\0')
        printf("%d: %s\n", number, d->error);
    else
        printf("%d: %s, compute capability %d.%d, %d multiprocessors, %" PRIu64 " MiB%s\n", number,
               d->name, d->major, d->minor, d->multiprocessors, d->memory >> 20,
               d->is_supported ? "" : ", not supported by this build");
}

static void print_json(int number, const struct gpu_description *d, struct messages *m)
{
    struct json j = {0};
    char capability[32], *text;

    json_integer(&j, "device", (uint64_t)number);
    if (d->error[0] != '\0') {
        json_string(&j, "error", d->error);
    } else {
        snprintf(capability, sizeof(capability), "%d.%d", d->major, d->minor);
        json_string(&j, "name", d->name);
        json_string(&j, "compute_capability", capability);
        json_integer(&j, "multiprocessors", (uint64_t)d->multiprocessors);
        json_integer(&j, "memory", d->memory);
        json_bool(&j, "supported", d->is_supported);
    }
    text = json_end(&j);
    if (text != NULL)
        puts(text);
    else
        msg_error(m, "memory exhausted");
    free(text);
}

void devices_list(bool is_json, struct messages *m)
{
    char error[GPU_ERROR_SIZE];
    const int count = gpu_count(error);

    if (count == 0 && is_json)
        msg_note(m, "%s", error);
    else if (count == 0)
        puts(error);
    for (int i = 0; i < count; i++) {
        struct gpu_description d;

        gpu_describe(i, &d);
        if (is_json)
            print_json(i, &d, m);
        else
            print_text(i, &d);
    }
}
