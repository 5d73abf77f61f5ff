/* Parses the files of docs/rfc/003: see settings_file.h. Touches only the given file. */
#include "scheduler_plugins/slurm/settings_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct parser {
    enum osora_file_kind kind;
    struct osora_settings* settings;
    char* error;
    int line;
    bool ended;
};

static bool refuse(struct parser* parser, char const* why) {
    snprintf(parser->error, OSORA_ERROR_MAX, "line %d: %s", parser->line, why);
    return false;
}

/* A file cannot set LD_PRELOAD or PATH: only variables that tune communication. */
static bool is_allowed_name(char const* name) {
    static char const* const prefixes[] = {"NCCL_", "TORCH_NCCL_", "GLOO_", "UCX_", "FI_"};
    size_t const length = strlen(name);
    if (length > OSORA_NAME_MAX) return false;
    if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != length) return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i) {
        size_t const prefix = strlen(prefixes[i]);
        if (length > prefix && strncmp(name, prefixes[i], prefix) == 0) return true;
    }
    return false;
}

/* A number in [0, limit] without sign or spaces; moves *at past it. */
static bool read_number(char const** at, long limit, long* number) {
    long value = 0;
    char const* digit = *at;
    for (; *digit >= '0' && *digit <= '9'; ++digit) {
        value = value * 10 + (*digit - '0');
        if (value > limit) return false;
    }
    if (digit == *at) return false;
    *at = digit;
    *number = value;
    return true;
}

static bool parse_env(struct parser* parser, char* rest) {
    struct osora_settings* settings = parser->settings;
    char* value = strchr(rest, ' ');
    if (value == NULL) return refuse(parser, "env NAME VALUE");
    *value++ = '\0';
    if (!is_allowed_name(rest)) {
        return refuse(parser, "not a variable of NCCL, Gloo, UCX or libfabric");
    }
    if (strlen(value) > OSORA_VALUE_MAX) return refuse(parser, "the value is too long");
    if (settings->env_count == OSORA_ENV_MAX) return refuse(parser, "too many env lines");
    for (size_t i = 0; i < settings->env_count; ++i) {
        if (strcmp(settings->env[i].name, rest) == 0) return refuse(parser, "set twice");
    }
    settings->env[settings->env_count++] = (struct osora_variable){rest, value};
    return true;
}

/* "cpus LOCAL_RANK 0-3,8": the list as Linux writes it. */
static bool parse_cpus(struct parser* parser, char const* rest) {
    long rank;
    if (!read_number(&rest, OSORA_CPUS_MAX - 1, &rank) || *rest++ != ' ') {
        return refuse(parser, "cpus LOCAL_RANK LIST");
    }
    cpu_set_t* set = &parser->settings->cpus[rank];
    if (CPU_COUNT(set) != 0) return refuse(parser, "set twice");
    do {
        long first, last;
        if (!read_number(&rest, CPU_SETSIZE - 1, &first)) return refuse(parser, "not a CPU list");
        last = first;
        if (*rest == '-') {
            ++rest;
            if (!read_number(&rest, CPU_SETSIZE - 1, &last) || last < first) {
                return refuse(parser, "not a CPU list");
            }
        }
        for (long cpu = first; cpu <= last; ++cpu) CPU_SET(cpu, set);
    } while (*rest++ == ',');
    return rest[-1] == '\0' ? true : refuse(parser, "not a CPU list");
}

static bool parse_boot(struct parser* parser, char const* rest) {
    if (parser->settings->boot_id != NULL) return refuse(parser, "set twice");
    if (strlen(rest) != 36 || strspn(rest, "0123456789abcdef-") != 36) {
        return refuse(parser, "boot UUID");
    }
    parser->settings->boot_id = rest;
    return true;
}

static bool parse_count(struct parser* parser, char const* rest, long* count) {
    if (*count != 0) return refuse(parser, "set twice");
    if (!read_number(&rest, INT_MAX, count) || *rest != '\0' || *count == 0) {
        return refuse(parser, "not a number above 0");
    }
    return true;
}

static bool parse_line(struct parser* parser, char* line) {
    bool const plan = parser->kind == OSORA_PLAN;
    if (parser->line == 1) {
        char const* first = plan ? "osora-plan 1" : "osora-node 1";
        if (strcmp(line, first) == 0) return true;
        return refuse(parser, plan ? "not 'osora-plan 1'" : "not 'osora-node 1'");
    }
    if (parser->ended) return refuse(parser, "something follows 'end'");
    if (*line == '#') return true;
    if (strcmp(line, "end") == 0) return parser->ended = true;
    char* rest = strchr(line, ' ');
    if (rest == NULL) return refuse(parser, "KEYWORD VALUE");
    *rest++ = '\0';
    if (strcmp(line, "env") == 0) return parse_env(parser, rest);
    if (strcmp(line, "cpus") == 0) return parse_cpus(parser, rest);
    if (!plan && strcmp(line, "boot") == 0) return parse_boot(parser, rest);
    if (plan && strcmp(line, "tasks") == 0) {
        return parse_count(parser, rest, &parser->settings->tasks);
    }
    if (plan && strcmp(line, "tasks_per_node") == 0) {
        return parse_count(parser, rest, &parser->settings->tasks_per_node);
    }
    return refuse(parser, "unknown keyword");
}

bool osora_parse_settings(enum osora_file_kind kind, size_t size, struct osora_settings* settings,
                          char error[OSORA_ERROR_MAX]) {
    struct parser parser = {kind, settings, error, 0, false};
    settings->env_count = 0;
    settings->boot_id = NULL;
    settings->tasks = settings->tasks_per_node = 0;
    memset(settings->cpus, 0, sizeof settings->cpus);
    for (size_t i = 0; i < size; ++i) {
        unsigned char const byte = (unsigned char)settings->text[i];
        if (byte == '\n') ++parser.line;
        if (byte != '\n' && (byte < 0x20 || byte > 0x7e)) {
            ++parser.line;
            return refuse(&parser, "a byte that is not printable ASCII");
        }
    }
    parser.line = 0;
    char* line = settings->text;
    char* const end = settings->text + size;
    while (line < end) {
        ++parser.line;
        char* newline = memchr(line, '\n', (size_t)(end - line));
        if (newline == NULL) return refuse(&parser, "cut off");
        *newline = '\0';
        if (!parse_line(&parser, line)) return false;
        line = newline + 1;
    }
    if (!parser.ended) return refuse(&parser, "no 'end': cut off");
    if (kind == OSORA_NODE_PROFILE && settings->boot_id == NULL) {
        return refuse(&parser, "no 'boot' line");
    }
    return true;
}

enum osora_load osora_load_settings(enum osora_file_kind kind, char const* path, uid_t uid,
                                    struct osora_settings* settings, char error[OSORA_ERROR_MAX]) {
    size_t size = 0;
    enum osora_load const load = osora_read_trusted(path, uid, settings->text, &size, error);
    if (load != OSORA_LOADED) return load;
    char reason[OSORA_ERROR_MAX] = "";
    if (osora_parse_settings(kind, size, settings, reason)) return OSORA_LOADED;
    snprintf(error, OSORA_ERROR_MAX, "%.300s: %s", path, reason);
    return OSORA_REFUSED;
}
