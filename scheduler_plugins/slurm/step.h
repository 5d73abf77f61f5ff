/* Pure helpers around a job step: where its ranks meet, how CPU sets and paths are written. */
#ifndef OSORA_STEP_H
#define OSORA_STEP_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The first host of Slurm's host list "n[3-5,9],m1" -> "n3"; false: none, or it does not fit. */
bool osora_first_host(char const* list, char* host, size_t size);

/* The same in every task of a step and likely another in the next step: 20000 to 29999, below the
 * ports that Linux gives to outgoing connections. */
int osora_master_port(uint32_t job, uint32_t step);

/* "0-3,8" of a set; cut when it does not fit. */
void osora_format_cpus(cpu_set_t const* set, char* text, size_t size);

/* Replaces %u with the user's id and %n with the node's name; false: it does not fit. */
bool osora_expand_path(char const* pattern, uid_t uid, char const* node, char* path, size_t size);

#endif
