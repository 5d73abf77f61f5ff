/* Small files that plug-ins act on: read only where root and the user alone could have written
 * them. Used by the plug-in for Slurm and by the tuner for NCCL; docs/rfc/003 has the rules. */
#ifndef OSORA_TRUSTED_FILE_H
#define OSORA_TRUSTED_FILE_H

#include <stddef.h>
#include <sys/types.h>

enum {
    OSORA_FILE_MAX = 64 * 1024, /* bytes */
    OSORA_ERROR_MAX = 512
};

enum osora_load { OSORA_LOADED, OSORA_ABSENT, OSORA_REFUSED };

/* Reads all of `path` into `text` and appends a zero that `size` does not count. Refused, with
 * a reason: a link, not a regular file, owned by neither root nor `uid`, writable by others, in a
 * folder where others could replace it, larger than OSORA_FILE_MAX. */
enum osora_load osora_read_trusted(char const* path, uid_t uid, char text[OSORA_FILE_MAX + 1],
                                   size_t* size, char error[OSORA_ERROR_MAX]);

#endif
