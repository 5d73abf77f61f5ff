/* The state of the SPANK plug-in in one process of Slurm (srun, sbatch, slurmstepd), and its parts.
 * A function that can fail returns false and leaves the reason in plugin->error. */
#ifndef OSORA_PLUGIN_H
#define OSORA_PLUGIN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "scheduler_plugins/slurm/settings_file.h"

enum { OSORA_PROFILES_MAX = 4, OSORA_SOCKET_MAX = 100 };

/* One variable from a file, and whether it was set. */
struct osora_outcome {
    struct osora_variable variable;
    char const* origin; /* "plan", "node profile" */
    bool yours;         /* the job's own environment had it: kept */
};

struct osora_plugin {
    /* plugstack.conf */
    char profiles[OSORA_PROFILES_MAX][PATH_MAX]; /* patterns, the first that is there counts */
    int profile_count;
    char notices[OSORA_SOCKET_MAX]; /* socket for reports of ended tasks; empty: none */
    char fail_callback[32];         /* tests: this callback fails... */
    char fail_context[16];          /* ...in "local", "allocator" or "remote"; empty: in all */
    /* options of srun, sbatch, salloc */
    bool off, dry_run;
    char plan[PATH_MAX];
    /* found by user_init, read by every task */
    struct osora_settings plan_settings, profile_settings;
    bool has_plan, has_profile;
    struct osora_outcome outcomes[2 * OSORA_ENV_MAX];
    int outcome_count;
    char error[OSORA_ERROR_MAX]; /* of a remote callback, raised by task_init */
    bool plan_is_wrong;          /* it is about --osora-plan: no task may run without it */
    bool reported;               /* the user has read of a failed task of this node */
};

/* options.c */
bool osora_read_arguments(struct osora_plugin* plugin, int count, char** arguments);
bool osora_register_options(spank_t spank, struct osora_plugin* plugin);

/* node.c: once on a node, as the user, before the tasks start */
bool osora_prepare_node(spank_t spank, struct osora_plugin* plugin);

/* task.c: in the process of each task, as the user, just before its exec */
bool osora_prepare_task(spank_t spank, struct osora_plugin* plugin);
/* How a task ended: never waits, never fails the step. */
void osora_tell_exit(spank_t spank, struct osora_plugin* plugin);

/* Whether to do nothing: batch scripts and other steps that are not srun's, --osora-off. */
bool osora_is_idle(spank_t spank, struct osora_plugin const* plugin);

/* A variable of the job; empty when it is not set or too long. */
void osora_job_variable(spank_t spank, char const* name, char* value, int size);

#endif
