/* Pure: see step.h. */
#include "scheduler_plugins/slurm/step.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool osora_first_host(char const* list, char* host, size_t size) {
    size_t length = 0;
    for (char const* at = list; *at != '\0' && *at != ','; ++at) {
        if (*at == '[') { /* its first number, then what follows the bracket */
            for (++at; isdigit((unsigned char)*at) && length + 1 < size; ++at) host[length++] = *at;
            if (isdigit((unsigned char)*at)) return false;
            at = strchr(at, ']');
            if (at == NULL) break;
            continue;
        }
        if (length + 1 >= size) return false;
        host[length++] = *at;
    }
    host[length] = '\0';
    return length > 0;
}

int osora_master_port(uint32_t job, uint32_t step) {
    uint64_t mixed = ((uint64_t)job << 32 | step) + 0x9e3779b97f4a7c15u; /* splitmix64 */
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return 20000 + (int)((mixed ^ (mixed >> 31)) % 10000);
}

void osora_format_cpus(cpu_set_t const* set, char* text, size_t size) {
    size_t length = 0;
    *text = '\0';
    for (int first = 0; first < CPU_SETSIZE && length < size; ++first) {
        if (!CPU_ISSET(first, set)) continue;
        int last = first;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set)) ++last;
        char const* comma = length == 0 ? "" : ",";
        int const wrote =
            first == last ? snprintf(text + length, size - length, "%s%d", comma, first)
                          : snprintf(text + length, size - length, "%s%d-%d", comma, first, last);
        length += (size_t)wrote;
        first = last;
    }
}

bool osora_expand_path(char const* pattern, uid_t uid, char const* node, char* path, size_t size) {
    size_t length = 0;
    for (char const* at = pattern; *at != '\0'; ++at) {
        char text[32] = {*at, '\0'};
        char const* part = text;
        if (at[0] == '%' && at[1] == 'u') {
            snprintf(text, sizeof text, "%u", (unsigned)uid);
            ++at;
        } else if (at[0] == '%' && at[1] == 'n') {
            part = node;
            ++at;
        }
        int const wrote = snprintf(path + length, size - length, "%s", part);
        length += (size_t)wrote;
        if (length >= size) return false;
    }
    return length > 0;
}
