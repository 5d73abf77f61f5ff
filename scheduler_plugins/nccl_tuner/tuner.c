/* libnccl-tuner-osora.so: gives NCCL measured constants for its cost model (v5, v6), and a chosen
 * algorithm and protocol for regions of sizes (v3, v4; v5 and v6 where there are no constants, or
 * on request), from the file that OSORA_NCCL_TUNER_FILE names. It never returns an error, since
 * NCCL would fail the collective: with a bad file it changes nothing and logs one line that says
 * why. All its answers follow from the file and the group, so ranks with the same file agree. */
#include "scheduler_plugins/nccl_tuner/tuner_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a communicator needs: the regions of its shape, by collective in the file's order. */
struct context {
    size_t first[TUNER_COLLECTIVES + 1]; /* regions [first[c], first[c + 1]) are of collective c */
    struct tuner_region regions[];
};

static bool concerns(struct tuner_region const* region, size_t ranks, size_t nodes) {
    return (region->ranks == 0 || region->ranks == ranks) &&
           (region->nodes == 0 || region->nodes == nodes);
}

static struct context* make_context(struct tuner_file const* file, size_t ranks, size_t nodes) {
    size_t const bytes = sizeof(struct context) + file->region_count * sizeof(struct tuner_region);
    struct context* context = malloc(bytes);
    if (context == NULL) return NULL;
    size_t count = 0;
    for (int collective = 0; collective < TUNER_COLLECTIVES; ++collective) {
        context->first[collective] = count;
        for (size_t i = 0; i < file->region_count; ++i) {
            struct tuner_region const* region = &file->regions[i];
            if (region->collective != collective || !concerns(region, ranks, nodes)) continue;
            context->regions[count++] = *region;
        }
    }
    context->first[TUNER_COLLECTIVES] = count;
    return context;
}

/* The file's content, or NULL and one line in the log. */
static struct tuner_file* load(tuner_logger log) {
    char const* const path = getenv("OSORA_NCCL_TUNER_FILE");
    struct tuner_file* file = NULL;
    char error[OSORA_ERROR_MAX] = "OSORA_NCCL_TUNER_FILE is not set";
    int level = TUNER_LOG_INFO;
    if (path != NULL && *path != '\0') {
        file = malloc(sizeof *file);
        size_t size = 0;
        *error = '\0';
        enum osora_load state = OSORA_REFUSED;
        if (file != NULL) state = osora_read_trusted(path, geteuid(), file->text, &size, error);
        if (state == OSORA_LOADED && osora_parse_tuner_file(size, file, error)) return file;
        if (state != OSORA_ABSENT) level = TUNER_LOG_WARN;
        free(file);
    }
    if (log != NULL) {
        log(level, TUNER_LOG_TUNING, __FILE__, __LINE__, "osora tuner: nothing is changed: %s%s%s",
            path != NULL ? path : "", path != NULL ? ": " : "",
            *error != '\0' ? error : "not there");
    }
    return NULL;
}

static void inject(struct tuner_file const* file, struct tuner_constants* constants) {
    for (size_t slot = 0; slot < TUNER_SLOTS; ++slot) {
        if (!file->given[slot]) continue;
        memcpy((char*)constants + slot * sizeof(double), &file->constants[slot], sizeof(double));
    }
}

/* `constants`: NULL where they cannot be injected. */
static void* start(size_t ranks, size_t nodes, tuner_logger log,
                   struct tuner_constants* constants) {
    struct tuner_file* file = load(log);
    if (file == NULL) return NULL;
    bool const with_regions =
        constants == NULL || file->constant_count == 0 || file->regions_always;
    if (constants != NULL) inject(file, constants);
    struct context* context = with_regions ? make_context(file, ranks, nodes) : NULL;
    if (log != NULL) {
        log(TUNER_LOG_INFO, TUNER_LOG_TUNING, __FILE__, __LINE__,
            "osora tuner: %zu constants, %zu regions for %zu ranks on %zu nodes",
            constants != NULL ? file->constant_count : 0,
            context != NULL ? context->first[TUNER_COLLECTIVES] : 0, ranks, nodes);
    }
    free(file);
    return context;
}

static int init_v3(size_t ranks, size_t nodes, tuner_logger log, void** context) {
    if (context != NULL) *context = start(ranks, nodes, log, NULL);
    return TUNER_SUCCESS;
}

static int init_v5(void** context, uint64_t communicator, size_t ranks, size_t nodes,
                   tuner_logger log, struct tuner_nvl_domains* domains,
                   struct tuner_constants* constants) {
    (void)communicator;
    (void)domains;
    if (context != NULL) *context = start(ranks, nodes, log, constants);
    return TUNER_SUCCESS;
}

/* Makes the algorithm and protocol of a region the cheapest, unless NCCL or the user forbids them,
 * which a cost below zero means. */
static int get_v4(void* opaque, int collective, size_t bytes, int pipe_ops, float** costs,
                  int algos, int protos, int registered, int* channels) {
    (void)pipe_ops;
    (void)registered;
    struct context const* context = opaque;
    if (context == NULL || costs == NULL || collective < 0 || collective >= TUNER_COLLECTIVES) {
        return TUNER_SUCCESS;
    }
    for (size_t i = context->first[collective]; i < context->first[collective + 1]; ++i) {
        struct tuner_region const* region = &context->regions[i];
        if (bytes < region->start_bytes || bytes >= region->stop_bytes) continue;
        if (region->algo >= algos || region->proto >= protos) break;
        float* const cost = (float*)costs + region->algo * protos + region->proto;
        if (!(*cost >= 0)) break;
        *cost = 0;
        if (region->channels > 0 && channels != NULL) *channels = region->channels;
        break;
    }
    return TUNER_SUCCESS;
}

static int get_v3(void* context, int collective, size_t bytes, int pipe_ops, float** costs,
                  int algos, int protos, int* channels) {
    return get_v4(context, collective, bytes, pipe_ops, costs, algos, protos, 0, channels);
}

static int end(void* context) {
    free(context);
    return TUNER_SUCCESS;
}

struct tuner_v3 const ncclTunerPlugin_v3 = {"osora", init_v3, get_v3, end};
struct tuner_v4 const ncclTunerPlugin_v4 = {"osora", init_v3, get_v4, end};
struct tuner_v5 const ncclTunerPlugin_v5 = {"osora", init_v5, get_v4, end};
struct tuner_v6 const ncclTunerPlugin_v6 = {"osora", init_v5, get_v4, end, NULL};
