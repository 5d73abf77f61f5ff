/* Arguments of plugstack.conf and options of srun, sbatch and salloc. Unknown ones
 * are errors. */
#include "scheduler_plugins/slurm/plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wrong(struct osora_plugin* plugin, char const* what, char const* argument) {
    snprintf(plugin->error, sizeof plugin->error, "plugstack.conf: %s: %.300s", what, argument);
    return false;
}

static bool read_profile(struct osora_plugin* plugin, char const* argument, char const* value) {
    if (plugin->profile_count == OSORA_PROFILES_MAX) {
        return wrong(plugin, "too many profiles", argument);
    }
    if (*value != '/' || strlen(value) >= PATH_MAX) {
        return wrong(plugin, "not an absolute path", argument);
    }
    strncpy(plugin->profiles[plugin->profile_count++], value, PATH_MAX - 1);
    return true;
}

static bool read_notices(struct osora_plugin* plugin, char const* argument, char const* value) {
    bool const off = strcmp(value, "off") == 0;
    if (!off && (*value != '/' || strlen(value) >= sizeof plugin->notices)) {
        return wrong(plugin, "neither off nor a short absolute path", argument);
    }
    snprintf(plugin->notices, sizeof plugin->notices, "%s", off ? "" : value);
    return true;
}

/* fail=CALLBACK or fail=CALLBACK@CONTEXT */
static bool read_fail(struct osora_plugin* plugin, char const* argument, char const* value) {
    static char const* const callbacks[] = {"init", "user_init", "task_init", "task_exit", "exit"};
    char const* at = strchrnul(value, '@');
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; ++i) {
        size_t const length = (size_t)(at - value);
        if (strlen(callbacks[i]) != length || strncmp(callbacks[i], value, length) != 0) continue;
        snprintf(plugin->fail_callback, sizeof plugin->fail_callback, "%s", callbacks[i]);
        snprintf(plugin->fail_context, sizeof plugin->fail_context, "%s", *at ? at + 1 : "");
        return true;
    }
    return wrong(plugin, "no such callback", argument);
}

bool osora_read_arguments(struct osora_plugin* plugin, int count, char** arguments) {
    plugin->profile_count = 0;
    *plugin->fail_callback = '\0';
    snprintf(plugin->notices, sizeof plugin->notices, "/run/osora/exits.sock");
    for (int i = 0; i < count; ++i) {
        char const* argument = arguments[i];
        char const* value = strchr(argument, '=');
        size_t const length = value != NULL ? (size_t)(value++ - argument) : 0;
        bool good = false;
        if (length == 7 && strncmp(argument, "profile", length) == 0) {
            good = read_profile(plugin, argument, value);
        } else if (length == 7 && strncmp(argument, "notices", length) == 0) {
            good = read_notices(plugin, argument, value);
        } else if (length == 4 && strncmp(argument, "fail", length) == 0) {
            good = read_fail(plugin, argument, value);
        } else {
            wrong(plugin, "known are profile=, notices=, fail=; not", argument);
        }
        if (!good) return false;
    }
    if (plugin->profile_count == 0) {
        snprintf(plugin->profiles[plugin->profile_count++], PATH_MAX, "/tmp/osora-%%u/node");
        snprintf(plugin->profiles[plugin->profile_count++], PATH_MAX, "/run/osora/node");
    }
    return true;
}

/* Slurm passes options without a context pointer. */
static struct osora_plugin* options_of;

static int take_plan(int value, char const* argument, int remote) {
    (void)value;
    char path[PATH_MAX], why[OSORA_ERROR_MAX];
    if (argument == NULL || *argument == '\0' || strlen(argument) >= PATH_MAX) {
        slurm_error("osora: --osora-plan needs the name of a file");
        return -1;
    }
    if (remote) {
        snprintf(options_of->plan, PATH_MAX, "%s", argument);
        return 0;
    }
    /* Tasks may start in another folder: they get the absolute path, in the environment. */
    if (realpath(argument, path) == NULL) {
        slurm_error("osora: --osora-plan=%s: %s", argument, strerror(errno));
        return -1;
    }
    /* Checked here, since srun exits on a wrong option even when the plug-in is optional. */
    if (osora_load_settings(OSORA_PLAN, path, getuid(), &options_of->plan_settings, why) !=
        OSORA_LOADED) {
        slurm_error("osora: --osora-plan: %s", why);
        return -1;
    }
    setenv("OSORA_SRUN_PLAN", path, 1);
    return 0;
}

static int take_off(int value, char const* argument, int remote) {
    (void)value;
    (void)argument;
    (void)remote;
    options_of->off = true;
    return 0;
}

static int take_dry_run(int value, char const* argument, int remote) {
    (void)value;
    (void)argument;
    (void)remote;
    options_of->dry_run = true;
    return 0;
}

bool osora_register_options(spank_t spank, struct osora_plugin* plugin) {
    static struct spank_option options[] = {
        {"osora-plan", "FILE", "osora: communication settings and rank counts from FILE", 1, 0,
         take_plan},
        {"osora-off", NULL, "osora: change nothing in this job", 0, 0, take_off},
        {"osora-dry-run", NULL, "osora: each task prints what it would get, and ends", 0, 0,
         take_dry_run}};
    options_of = plugin;
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        spank_err_t const result = spank_option_register(spank, &options[i]);
        if (result == ESPANK_SUCCESS) continue;
        snprintf(plugin->error, sizeof plugin->error, "--%s: %s", options[i].name,
                 spank_strerror(result));
        return false;
    }
    return true;
}
