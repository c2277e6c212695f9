/*
 * devices.h - prints the GPUs for --list-devices
 */
#ifndef GZLZSS_DEVICES_H
#define GZLZSS_DEVICES_H

#include <stdbool.h>

#include "src/messages.h"

/* Prints a line about each GPU, or the reason why there is no GPU. If is_json is true, each line is
 * a JSON object, and the reason goes to standard error. */
void devices_list(bool is_json, struct messages *m);

#endif
