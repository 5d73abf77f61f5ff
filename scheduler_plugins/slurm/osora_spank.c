/* SPANK plug-in of osora for plain srun: per-node settings of communication, torchrun's variables
 * and CPU binding for each task, and the true end of each task. It exports only the callbacks
 * that Slurm looks up. This file decides what happens to a failure:
 * - in srun, sbatch and salloc it is returned;
 * - on a node an error of init or user_init would leave a step that "succeeds" without having run,
 *   or a drained node: task_init returns it, the one place where Slurm reports it and does what
 *   plugstack.conf says: optional: the task runs without osora, required: it does not run;
 * - a task whose plan cannot be followed never runs: the user asked for that plan;
 * - once tasks run, a failure is only logged. */
#include "scheduler_plugins/slurm/plugin.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

SPANK_PLUGIN(osora, 1)

/* Slurm's interface has no context pointer for it. */
static struct osora_plugin the_plugin;

typedef bool (*callback_body)(spank_t spank, struct osora_plugin* plugin);

static char const* context_name(void) {
    switch (spank_context()) {
        case S_CTX_LOCAL:
            return "local";
        case S_CTX_ALLOCATOR:
            return "allocator";
        case S_CTX_REMOTE:
            return "remote";
        default:
            return "";
    }
}

static bool is_made_to_fail(struct osora_plugin* plugin, char const* callback) {
    if (strcmp(plugin->fail_callback, callback) != 0) return false;
    if (*plugin->fail_context && strcmp(plugin->fail_context, context_name()) != 0) return false;
    snprintf(plugin->error, sizeof plugin->error, "made to fail in %s (plugstack.conf)", callback);
    return true;
}

static void log_error(struct osora_plugin* plugin) {
    slurm_error("osora: %s", plugin->error);
    *plugin->error = '\0';
}

/* What task_init and, outside a node, init return for an error. */
static int raise_error(spank_t spank, struct osora_plugin* plugin, bool starts_task) {
    int local_rank = 0;
    if (starts_task && osora_is_idle(spank, plugin)) return ESPANK_SUCCESS;
    if (starts_task) spank_get_item(spank, S_TASK_ID, &local_rank);
    if (local_rank == 0) log_error(plugin);
    if (starts_task && plugin->plan_is_wrong) _exit(1); /* instead of the exec that would follow */
    return -1; /* ESPANK_ERROR is above 0, and passes for success before Slurm 25.05 */
}

/* Runs one callback; returns its result for Slurm. */
static int run(char const* callback, spank_t spank, callback_body body) {
    struct osora_plugin* plugin = &the_plugin;
    spank_context_t const context = spank_context();
    if (context == S_CTX_SLURMD || context == S_CTX_JOB_SCRIPT) return ESPANK_SUCCESS;
    bool const starts_task = strcmp(callback, "task_init") == 0;
    bool const too_late = strcmp(callback, "task_exit") == 0 || strcmp(callback, "exit") == 0;
    if (*plugin->error == '\0') {
        if (!is_made_to_fail(plugin, callback) && body(spank, plugin)) return ESPANK_SUCCESS;
        if (too_late) log_error(plugin);
    }
    if (too_late || (context == S_CTX_REMOTE && !starts_task)) return ESPANK_SUCCESS;
    return raise_error(spank, plugin, starts_task);
}

static bool nothing(spank_t spank, struct osora_plugin* plugin) {
    (void)spank;
    (void)plugin;
    return true;
}

static bool prepare_node(spank_t spank, struct osora_plugin* plugin) {
    return osora_is_idle(spank, plugin) || osora_prepare_node(spank, plugin);
}

static bool prepare_task(spank_t spank, struct osora_plugin* plugin) {
    return osora_is_idle(spank, plugin) || osora_prepare_task(spank, plugin);
}

static bool tell_exit(spank_t spank, struct osora_plugin* plugin) {
    if (!osora_is_idle(spank, plugin)) osora_tell_exit(spank, plugin);
    return true;
}

int slurm_spank_init(spank_t spank, int count, char** arguments) {
    spank_context_t const context = spank_context();
    if (context == S_CTX_SLURMD || context == S_CTX_JOB_SCRIPT) return ESPANK_SUCCESS;
    /* Options first: a step must accept those that it was given even when the rest is wrong. A
     * failure leaves its reason, and run() handles it. */
    osora_register_options(spank, &the_plugin);
    osora_read_arguments(&the_plugin, count, arguments);
    return run("init", spank, nothing);
}

int slurm_spank_user_init(spank_t spank, int count, char** arguments) {
    (void)count;
    (void)arguments;
    return run("user_init", spank, prepare_node);
}

int slurm_spank_task_init(spank_t spank, int count, char** arguments) {
    (void)count;
    (void)arguments;
    return run("task_init", spank, prepare_task);
}

int slurm_spank_task_exit(spank_t spank, int count, char** arguments) {
    (void)count;
    (void)arguments;
    return run("task_exit", spank, tell_exit);
}

int slurm_spank_exit(spank_t spank, int count, char** arguments) {
    (void)count;
    (void)arguments;
    return run("exit", spank, nothing);
}
