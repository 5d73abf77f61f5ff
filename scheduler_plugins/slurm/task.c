/* In the process of each task, as the user, just before its exec: torchrun's variables, CPU
 * binding, and with --osora-dry-run a print instead of the program. After its end: how it ended. */
#include "scheduler_plugins/slurm/plugin.h"
#include "scheduler_plugins/slurm/step.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct task {
    uint32_t job, step, rank, world_size, local_world_size;
    int local_rank;
    char node[256];
    char master_addr[256], master_port[16]; /* as the task will see them */
    char cpus[512];                         /* what it was bound to; empty: not by us */
};

static void set_number(spank_t spank, char const* name, uint32_t number) {
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    spank_setenv(spank, name, text, 1);
}

static bool look_at(spank_t spank, struct task* task) {
    osora_job_variable(spank, "SLURMD_NODENAME", task->node, sizeof task->node);
    return spank_get_item(spank, S_JOB_ID, &task->job) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_STEPID, &task->step) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_TASK_GLOBAL_ID, &task->rank) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_TASK_ID, &task->local_rank) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &task->world_size) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &task->local_world_size) == ESPANK_SUCCESS;
}

/* Ranks meet on the step's first node. The user's MASTER_ADDR or MASTER_PORT is kept. */
static void set_meeting_point(spank_t spank, struct task* task) {
    static char nodes[64 * 1024];
    char port[16];
    osora_job_variable(spank, "SLURM_STEP_NODELIST", nodes, sizeof nodes);
    if (*nodes == '\0') osora_job_variable(spank, "SLURM_JOB_NODELIST", nodes, sizeof nodes);
    if (osora_first_host(nodes, task->master_addr, sizeof task->master_addr)) {
        spank_setenv(spank, "MASTER_ADDR", task->master_addr, 0);
    }
    snprintf(port, sizeof port, "%d", osora_master_port(task->job, task->step));
    spank_setenv(spank, "MASTER_PORT", port, 0);
    osora_job_variable(spank, "MASTER_ADDR", task->master_addr, sizeof task->master_addr);
    osora_job_variable(spank, "MASTER_PORT", task->master_port, sizeof task->master_port);
}

/* A profile has a list for each GPU of its node. A single task of the node (torchrun's) must not be
 * confined to the cores of the first. */
static bool is_for_this_step(struct osora_settings const* profile, struct task const* task) {
    uint32_t lists = 0;
    for (int i = 0; i < OSORA_CPUS_MAX; ++i) {
        if (CPU_COUNT(&profile->cpus[i]) > 0) ++lists;
    }
    return lists == task->local_world_size;
}

/* Binds to the cores that the plan or the node's profile names for this local rank, inside what
 * Slurm allows. Slurm's own binding, asked for or configured, is left alone. */
static void bind_cpus(spank_t spank, struct osora_plugin const* plugin, struct task* task) {
    char type[64];
    cpu_set_t allowed, wanted;
    osora_job_variable(spank, "SLURM_CPU_BIND_TYPE", type, sizeof type);
    if (*type != '\0' && strstr(type, "none") == NULL) return;
    if (task->local_rank < 0 || task->local_rank >= OSORA_CPUS_MAX) return;
    struct osora_settings const* sources[] = {
        plugin->has_plan ? &plugin->plan_settings : NULL,
        plugin->has_profile && is_for_this_step(&plugin->profile_settings, task)
            ? &plugin->profile_settings
            : NULL};
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; ++i) {
        if (sources[i] == NULL) continue;
        CPU_AND(&wanted, &allowed, &sources[i]->cpus[task->local_rank]);
        if (CPU_COUNT(&wanted) == 0) continue;
        if (sched_setaffinity(0, sizeof wanted, &wanted) == 0) {
            osora_format_cpus(&wanted, task->cpus, sizeof task->cpus);
        }
        return;
    }
}

/* Whole lines, in one piece. */
static void print_line(struct task const* task, char const* format, ...) {
    char line[OSORA_VALUE_MAX + 512];
    int length = snprintf(line, sizeof line, "osora: rank %u: ", task->rank);
    va_list values;
    va_start(values, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, values);
    va_end(values);
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    line[length++] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) _exit(1);
}

static void print_and_end(spank_t spank, struct osora_plugin const* plugin,
                          struct task const* task) {
    int count = 0;
    char** arguments = NULL;
    spank_get_item(spank, S_JOB_ARGV, &count, &arguments);
    print_line(task, "on %s would run %s", task->node, count > 0 ? arguments[0] : "nothing");
    print_line(task, "RANK=%u LOCAL_RANK=%d WORLD_SIZE=%u LOCAL_WORLD_SIZE=%u", task->rank,
               task->local_rank, task->world_size, task->local_world_size);
    print_line(task, "MASTER_ADDR=%s MASTER_PORT=%s", task->master_addr, task->master_port);
    for (int i = 0; i < plugin->outcome_count; ++i) {
        struct osora_outcome const* outcome = &plugin->outcomes[i];
        char const* name = outcome->variable.name;
        if (outcome->yours) {
            print_line(task, "%s keeps your value; the %s says %s", name, outcome->origin,
                       outcome->variable.value);
        } else {
            print_line(task, "%s=%s (%s)", name, outcome->variable.value, outcome->origin);
        }
    }
    if (*task->cpus != '\0') print_line(task, "bound to CPUs %s", task->cpus);
    _exit(0); /* instead of the exec that would follow */
}

bool osora_prepare_task(spank_t spank, struct osora_plugin* plugin) {
    struct task task = {0};
    if (!look_at(spank, &task)) {
        snprintf(plugin->error, sizeof plugin->error, "Slurm does not say which rank this is");
        return false;
    }
    set_number(spank, "RANK", task.rank);
    set_number(spank, "LOCAL_RANK", (uint32_t)task.local_rank);
    set_number(spank, "WORLD_SIZE", task.world_size);
    set_number(spank, "LOCAL_WORLD_SIZE", task.local_world_size);
    set_meeting_point(spank, &task);
    bind_cpus(spank, plugin, &task);
    if (plugin->dry_run) print_and_end(spank, plugin, &task);
    return true;
}

void osora_tell_exit(spank_t spank, struct osora_plugin* plugin) {
    struct task task = {0};
    int status = 0;
    pid_t pid = 0;
    if (!look_at(spank, &task)) return;
    if (spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS) return;
    spank_get_item(spank, S_TASK_PID, &pid);
    int const code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    int const signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (status != 0) {
        char const* how = signal != 0 ? "was killed by signal" : "exited with";
        int const number = signal != 0 ? signal : code;
        slurm_info("osora: rank %u on %s %s %d", task.rank, task.node, how, number);
        /* The user sees only the first end on this node; a teardown sends SIGTERM to the rest. */
        if (!plugin->reported && signal != SIGTERM) {
            slurm_spank_log("osora: rank %u on %s %s %d", task.rank, task.node, how, number);
            plugin->reported = true;
        }
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*plugin->notices == '\0') return;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", plugin->notices);
    char notice[512];
    int const length = snprintf(
        notice, sizeof notice,
        "osora-exit 1 job=%u step=%u node=%s rank=%u local_rank=%d pid=%d exit=%d signal=%d\n",
        task.job, task.step, task.node, task.rank, task.local_rank, (int)pid, code, signal);
    int const to = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (to < 0) return;
    /* Slurm calls this for one task after the other: a missing reader or a full queue is ignored.
     */
    (void)sendto(to, notice, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL,
                 (struct sockaddr*)&address, sizeof address);
    close(to);
}
