/* The file with the changes for the tuner (docs/rfc/006): constants of NCCL's model, and
 * regions of sizes with the algorithm and protocol to use. The text is untrusted until it is
 * parsed; a bad file is refused as a whole. */
#ifndef OSORA_TUNER_FILE_H
#define OSORA_TUNER_FILE_H

#include "scheduler_plugins/nccl_tuner/tuner_abi.h"
#include "scheduler_plugins/trusted_file.h"

#include <stdbool.h>

enum {
    TUNER_REGIONS_MAX = 512, /* region lines */
    TUNER_CHANNELS_MAX = 64,
    TUNER_SLOTS = sizeof(struct tuner_constants) / sizeof(double)
};

/* Sizes [start_bytes, stop_bytes) of a collective in groups of this shape; 0 ranks, nodes: any. */
struct tuner_region {
    uint64_t start_bytes, stop_bytes;
    uint64_t ranks, nodes;
    int collective, algo, proto;
    int channels; /* 0: NCCL's own number */
};

struct tuner_file {
    char text[OSORA_FILE_MAX + 1];
    double constants[TUNER_SLOTS]; /* as in struct tuner_constants */
    bool given[TUNER_SLOTS];
    size_t constant_count;
    struct tuner_region regions[TUNER_REGIONS_MAX]; /* the first that holds a size counts */
    size_t region_count;
    bool regions_always; /* also where the file's constants are injected (v5, v6) */
};

/* Parses file->text, `size` bytes and a zero after them, in place. False: `error` says which line
 * and why. */
bool osora_parse_tuner_file(size_t size, struct tuner_file* file, char error[OSORA_ERROR_MAX]);

#endif
