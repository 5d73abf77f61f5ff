/* The line-based files of docs/rfc/003: a node's profile (written by an agent on that node) and a
 * plan for a plain srun. The text is untrusted until it is parsed; a bad file is refused as a
 * whole. */
#ifndef OSORA_SETTINGS_FILE_H
#define OSORA_SETTINGS_FILE_H

#include "scheduler_plugins/trusted_file.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    OSORA_ENV_MAX = 64,     /* env lines */
    OSORA_NAME_MAX = 64,    /* bytes of a variable's name */
    OSORA_VALUE_MAX = 4095, /* bytes of its value */
    OSORA_CPUS_MAX = 64     /* cpus lines: local ranks of a node */
};

enum osora_file_kind { OSORA_NODE_PROFILE, OSORA_PLAN };

struct osora_variable {
    char const* name; /* both point into the text */
    char const* value;
};

struct osora_settings {
    char text[OSORA_FILE_MAX + 1];
    struct osora_variable env[OSORA_ENV_MAX];
    size_t env_count;
    cpu_set_t cpus[OSORA_CPUS_MAX]; /* by local rank; all zero: not given */
    char const* boot_id;            /* profile: the boot it was measured in */
    long tasks;                     /* plan: tasks of the step it was made for; 0: any */
    long tasks_per_node;            /* plan: the same on each node; 0: any */
};

/* Parses settings->text, `size` bytes and a zero after them, in place. False: `error` says which
 * line and why. */
bool osora_parse_settings(enum osora_file_kind kind, size_t size, struct osora_settings* settings,
                          char error[OSORA_ERROR_MAX]);

/* Reads and parses `path` for user `uid`. Refused, with a reason: a link, not a regular file, owned
 * by neither root nor the user, writable by others, in a folder where others could replace it,
 * larger than OSORA_FILE_MAX, or not to be parsed. */
enum osora_load osora_load_settings(enum osora_file_kind kind, char const* path, uid_t uid,
                                    struct osora_settings* settings, char error[OSORA_ERROR_MAX]);

#endif
