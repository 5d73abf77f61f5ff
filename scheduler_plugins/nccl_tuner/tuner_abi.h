/* What NCCL expects of a tuner plug-in, versions 3 to 6, written from its public interface so that
 * no header of NCCL or CUDA is needed. NCCL never changes the layouts of a version. */
#ifndef OSORA_TUNER_ABI_H
#define OSORA_TUNER_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    TUNER_SUCCESS = 0,      /* ncclSuccess, the only result that is ever returned */
    TUNER_ALGOS = 7,        /* Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT */
    TUNER_PROTOS = 3,       /* LL, LL128, Simple */
    TUNER_HARDWARE = 3,     /* NVLINK, PCI, NET */
    TUNER_GENERATIONS = 4,  /* Volta, Ampere, Hopper, Blackwell */
    TUNER_SCALES = 3,       /* 1, 2, 4 and more nodes */
    TUNER_COLLECTIVES = 5,  /* Broadcast, Reduce, AllGather, ReduceScatter, AllReduce */
    TUNER_LOG_WARN = 2,     /* NCCL_LOG_WARN */
    TUNER_LOG_INFO = 3,     /* NCCL_LOG_INFO */
    TUNER_LOG_TUNING = 0x40 /* NCCL_TUNING, of NCCL_DEBUG_SUBSYS */
};

typedef void (*tuner_logger)(int level, unsigned long flags, char const* file, int line,
                             char const* format, ...);

/* v5, v6: what NCCL's cost model will use, to be changed in place. us and GB/s. */
struct tuner_constants {
    double base_latency[TUNER_ALGOS][TUNER_PROTOS];
    double hardware_latency[TUNER_HARDWARE][TUNER_ALGOS][TUNER_PROTOS];
    double ll_max[TUNER_GENERATIONS][TUNER_SCALES];
    double ring_ll128_max[TUNER_GENERATIONS][TUNER_SCALES];
    double tree_ll128_max[TUNER_GENERATIONS][TUNER_SCALES];
    double tree_max[TUNER_GENERATIONS][TUNER_SCALES];
    double nvls_tree_max[TUNER_GENERATIONS][TUNER_SCALES];
};

struct tuner_nvl_domains {
    int domains, ranks_min, ranks_max;
};

/* The cost table is declared float** but is one block of algos x protos floats. */
typedef int (*tuner_get_v3)(void* context, int collective, size_t bytes, int pipe_ops,
                            float** costs, int algos, int protos, int* channels);
typedef int (*tuner_get_v4)(void* context, int collective, size_t bytes, int pipe_ops,
                            float** costs, int algos, int protos, int registered, int* channels);
typedef int (*tuner_init_v3)(size_t ranks, size_t nodes, tuner_logger log, void** context);
typedef int (*tuner_init_v5)(void** context, uint64_t communicator, size_t ranks, size_t nodes,
                             tuner_logger log, struct tuner_nvl_domains* domains,
                             struct tuner_constants* constants);
typedef int (*tuner_end)(void* context);
typedef int (*tuner_chunk)(void* context, int collective, size_t bytes, int algo, int proto,
                           int channels, size_t* chunk_bytes);

struct tuner_v3 {
    char const* name;
    tuner_init_v3 init;
    tuner_get_v3 get_coll_info;
    tuner_end destroy;
};
struct tuner_v4 {
    char const* name;
    tuner_init_v3 init;
    tuner_get_v4 get_coll_info;
    tuner_end destroy;
};
struct tuner_v5 {
    char const* name;
    tuner_init_v5 init;
    tuner_get_v4 get_coll_info;
    tuner_end finalize;
};
struct tuner_v6 {
    char const* name;
    tuner_init_v5 init;
    tuner_get_v4 get_coll_info;
    tuner_end finalize;
    tuner_chunk get_chunk_size; /* NULL: NCCL's own */
};

#endif
