/* Reads files that other users must not be able to change: see trusted_file.h. */
#include "scheduler_plugins/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum osora_load refuse_file(char* error, char const* path, char const* why) {
    snprintf(error, OSORA_ERROR_MAX, "%.300s: %s", path, why);
    return OSORA_REFUSED;
}

/* Why users other than root and `uid` could change the opened file; NULL when they cannot. A folder
 * with the sticky bit may be writable: they cannot rename or remove files of others there. */
static char const* weakness_of(struct stat const* status, bool folder, uid_t uid) {
    if (!folder && !S_ISREG(status->st_mode)) return "not a regular file";
    if (status->st_uid != 0 && status->st_uid != uid) {
        return folder ? "its folder is neither yours nor root's" : "neither yours nor root's";
    }
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0 && !(folder && status->st_mode & S_ISVTX)) {
        return folder ? "its folder is writable by others" : "writable by others";
    }
    return NULL;
}

/* Reads the whole file into `text` and appends a zero; returns its size, or -1. */
static ssize_t read_whole(int file, char* text) {
    size_t size = 0;
    while (size <= OSORA_FILE_MAX) {
        ssize_t const got = read(file, text + size, OSORA_FILE_MAX + 1 - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        size += (size_t)got;
    }
    if (size > OSORA_FILE_MAX) return -1;
    text[size] = '\0';
    return (ssize_t)size;
}

/* Opens the file that `path` names inside `folder`; -1 and why in `error`, empty when it is not
 * there. */
static int open_checked(int folder, char const* path, uid_t uid, char* error) {
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int const file = openat(folder, basename(copy), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        *error = '\0';
        if (errno != ENOENT) {
            refuse_file(error, path, errno == ELOOP ? "a symbolic link" : strerror(errno));
        }
        return -1;
    }
    struct stat status;
    char const* why =
        fstat(file, &status) != 0 ? strerror(errno) : weakness_of(&status, false, uid);
    if (why == NULL) return file;
    refuse_file(error, path, why);
    close(file);
    return -1;
}

enum osora_load osora_read_trusted(char const* path, uid_t uid, char text[OSORA_FILE_MAX + 1],
                                   size_t* size, char error[OSORA_ERROR_MAX]) {
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof copy) return refuse_file(error, path, "the path is too long");
    snprintf(copy, sizeof copy, "%s", path);
    int const folder = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return errno == ENOENT ? OSORA_ABSENT : refuse_file(error, path, strerror(errno));
    }
    struct stat status;
    char const* why =
        fstat(folder, &status) != 0 ? strerror(errno) : weakness_of(&status, true, uid);
    if (why != NULL) refuse_file(error, path, why);
    int const file = why == NULL ? open_checked(folder, path, uid, error) : -1;
    close(folder);
    if (file < 0) return *error == '\0' ? OSORA_ABSENT : OSORA_REFUSED;
    ssize_t const got = read_whole(file, text);
    close(file);
    if (got < 0) return refuse_file(error, path, "unreadable, or larger than 64 KiB");
    *size = (size_t)got;
    return OSORA_LOADED;
}
