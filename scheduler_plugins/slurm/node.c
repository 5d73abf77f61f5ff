/* Once on a node, as the user, before the tasks start: the plan's and the node's settings into the
 * environment that all tasks inherit. Variables of the job's own environment always win. */
#include "scheduler_plugins/slurm/plugin.h"
#include "scheduler_plugins/slurm/step.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool osora_is_idle(spank_t spank, struct osora_plugin const* plugin) {
    uint32_t step = 0;
    char off[8];
    /* Batch scripts, extern and interactive steps have numbers above the normal ones. */
    if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS) return true;
    if (step > SLURM_MAX_NORMAL_STEP_ID) return true;
    osora_job_variable(spank, "OSORA_SRUN_OFF", off, sizeof off);
    return plugin->off || strcmp(off, "1") == 0;
}

void osora_job_variable(spank_t spank, char const* name, char* value, int size) {
    if (spank_getenv(spank, name, value, size) != ESPANK_SUCCESS) *value = '\0';
}

static bool load_plan(spank_t spank, struct osora_plugin* plugin, uid_t uid) {
    char path[PATH_MAX];
    uint32_t tasks = 0, local_tasks = 0;
    osora_job_variable(spank, "OSORA_SRUN_PLAN", path, sizeof path);
    if (*path == '\0') snprintf(path, sizeof path, "%s", plugin->plan);
    if (*path == '\0') return true;
    struct osora_settings* plan = &plugin->plan_settings;
    enum osora_load const load = osora_load_settings(OSORA_PLAN, path, uid, plan, plugin->error);
    if (load == OSORA_ABSENT) {
        snprintf(plugin->error, sizeof plugin->error, "%.300s: not there", path);
    }
    plugin->plan_is_wrong = true; /* until it has passed */
    if (load != OSORA_LOADED) return false;
    spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks);
    spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &local_tasks);
    if (plan->tasks != 0 && plan->tasks != (long)tasks) {
        snprintf(plugin->error, sizeof plugin->error, "%.300s is for %ld tasks; this step has %u",
                 path, plan->tasks, tasks);
        return false;
    }
    if (plan->tasks_per_node != 0 && plan->tasks_per_node != (long)local_tasks) {
        snprintf(plugin->error, sizeof plugin->error,
                 "%.300s is for %ld tasks a node; this node has %u", path, plan->tasks_per_node,
                 local_tasks);
        return false;
    }
    plugin->plan_is_wrong = false;
    return plugin->has_plan = true;
}

/* Whether a profile was measured since this node booted: a reboot may rename devices. */
static bool is_of_this_boot(char const* boot_id) {
    char now[37] = "";
    int const file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t const got = read(file, now, 36);
    close(file);
    return got == 36 && strcmp(now, boot_id) == 0;
}

/* A profile is advice: a missing or old one is skipped silently; a refused one is reported, and the
 * next is tried, since any user may have put a folder of that name into /tmp. */
static void load_profile(struct osora_plugin* plugin, uid_t uid) {
    char node[256] = "", path[PATH_MAX], why[OSORA_ERROR_MAX];
    gethostname(node, sizeof node - 1); /* SLURMD_NODENAME is not set yet */
    *strchrnul(node, '.') = '\0';
    for (int i = 0; i < plugin->profile_count && !plugin->has_profile; ++i) {
        if (!osora_expand_path(plugin->profiles[i], uid, node, path, sizeof path)) continue;
        struct osora_settings* profile = &plugin->profile_settings;
        switch (osora_load_settings(OSORA_NODE_PROFILE, path, uid, profile, why)) {
            case OSORA_LOADED:
                plugin->has_profile = is_of_this_boot(profile->boot_id);
                break;
            case OSORA_REFUSED:
                slurm_error("osora: node profile not used, the next is tried: %s", why);
                break;
            case OSORA_ABSENT:
                break;
        }
    }
}

static void apply(spank_t spank, struct osora_plugin* plugin, struct osora_settings const* settings,
                  char const* origin) {
    for (size_t i = 0; i < settings->env_count; ++i) {
        struct osora_variable const* variable = &settings->env[i];
        spank_err_t const result = spank_setenv(spank, variable->name, variable->value, 0);
        bool again = false;
        for (int j = 0; j < plugin->outcome_count; ++j) {
            again = again || strcmp(plugin->outcomes[j].variable.name, variable->name) == 0;
        }
        if (again) continue; /* the plan said it */
        plugin->outcomes[plugin->outcome_count++] =
            (struct osora_outcome){*variable, origin, result == ESPANK_ENV_EXISTS};
    }
}

bool osora_prepare_node(spank_t spank, struct osora_plugin* plugin) {
    uid_t uid = (uid_t)-1;
    if (spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS) return true;
    if (!load_plan(spank, plugin, uid)) return false;
    load_profile(plugin, uid);
    if (plugin->has_plan) apply(spank, plugin, &plugin->plan_settings, "plan");
    if (plugin->has_profile) apply(spank, plugin, &plugin->profile_settings, "node profile");
    return true;
}
