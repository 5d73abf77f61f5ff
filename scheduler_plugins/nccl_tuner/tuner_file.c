/* Parses the tuner file of docs/rfc/006: see tuner_file.h. No locale, no allocation. */
#include "scheduler_plugins/nccl_tuner/tuner_file.h"

#include <stdio.h>
#include <string.h>

struct parser {
    struct tuner_file* file;
    char* error;
    int line;
    bool ended;
};

static char const* const kAlgos[TUNER_ALGOS] = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
static char const* const kProtos[TUNER_PROTOS] = {"LL", "LL128", "Simple"};
static char const* const kHardware[TUNER_HARDWARE] = {"NVLINK", "PCI", "NET"};
static char const* const kGenerations[TUNER_GENERATIONS] = {"volta", "ampere", "hopper",
                                                            "blackwell"};
static char const* const kScales[TUNER_SCALES] = {"1", "2", "4"};
static char const* const kTables[5] = {"ll", "ring_ll128", "tree_ll128", "tree", "nvls_tree"};
static char const* const kCollectives[TUNER_COLLECTIVES] = {"broadcast", "reduce", "all_gather",
                                                            "reduce_scatter", "all_reduce"};

static bool refuse(struct parser* parser, char const* why) {
    snprintf(parser->error, OSORA_ERROR_MAX, "line %d: %s", parser->line, why);
    return false;
}

/* Splits at single spaces, in place; returns the number of words, or `most` + 1 when there are
 * more. */
static int split(char* line, char** words, int most) {
    int count = 0;
    for (char* at = line; at != NULL;) {
        if (count == most) return most + 1;
        words[count++] = at;
        at = strchr(at, ' ');
        if (at != NULL) *at++ = '\0';
    }
    return count;
}

static int find(char const* word, char const* const* names, int count) {
    for (int i = 0; i < count; ++i) {
        if (strcmp(word, names[i]) == 0) return i;
    }
    return -1;
}

static bool read_integer(char const* word, uint64_t most, uint64_t* value) {
    uint64_t number = 0;
    if (*word == '\0') return false;
    for (; *word != '\0'; ++word) {
        if (*word < '0' || *word > '9') return false;
        uint64_t const digit = (uint64_t)(*word - '0');
        if (number > (most - digit) / 10) return false;
        number = number * 10 + digit;
    }
    *value = number;
    return number <= most;
}

/* "12.5": up to 7 digits, and up to nine after a point; [0, 1e6]. strtod would follow the locale.
 * All digits together as one integer fit into a double exactly. */
static bool read_decimal(char const* word, double* value) {
    uint64_t digits = 0, unit = 1;
    int before = 0, behind = 0;
    for (; *word >= '0' && *word <= '9' && before < 8; ++word, ++before) {
        digits = digits * 10 + (uint64_t)(*word - '0');
    }
    if (*word == '.') {
        for (++word; *word >= '0' && *word <= '9' && behind < 10; ++word, ++behind) {
            digits = digits * 10 + (uint64_t)(*word - '0');
            unit *= 10;
        }
        if (behind == 0) return false;
    }
    if (*word != '\0' || before == 0 || before > 7 || behind > 9) return false;
    if (digits > unit * 1000000) return false;
    *value = (double)digits / (double)unit;
    return true;
}

static bool set_constant(struct parser* parser, size_t offset_bytes, char const* word) {
    size_t const slot = offset_bytes / sizeof(double);
    struct tuner_file* file = parser->file;
    if (file->given[slot]) return refuse(parser, "set twice");
    if (!read_decimal(word, &file->constants[slot])) {
        return refuse(parser, "not a number from 0 to 1000000");
    }
    file->given[slot] = true;
    ++file->constant_count;
    return true;
}

/* latency base|NVLINK|PCI|NET ALGO PROTO US */
static bool parse_latency(struct parser* parser, char** words, int count) {
    if (count != 5) return refuse(parser, "latency base|NVLINK|PCI|NET ALGO PROTO US");
    int const hardware = find(words[1], kHardware, TUNER_HARDWARE);
    int const algo = find(words[2], kAlgos, TUNER_ALGOS);
    int const proto = find(words[3], kProtos, TUNER_PROTOS);
    if (algo < 0 || proto < 0) return refuse(parser, "unknown algorithm or protocol");
    if (hardware < 0 && strcmp(words[1], "base") != 0) return refuse(parser, "unknown hardware");
    size_t const offset = offsetof(struct tuner_constants, base_latency) +
                          sizeof(double[TUNER_ALGOS][TUNER_PROTOS]) * (size_t)(hardware + 1);
    return set_constant(parser, offset + sizeof(double) * (size_t)(algo * TUNER_PROTOS + proto),
                        words[4]);
}

/* bandwidth TABLE GENERATION 1|2|4 GBPS */
static bool parse_bandwidth(struct parser* parser, char** words, int count) {
    if (count != 5) return refuse(parser, "bandwidth TABLE GENERATION 1|2|4 GBPS");
    int const table = find(words[1], kTables, 5);
    int const generation = find(words[2], kGenerations, TUNER_GENERATIONS);
    int const scale = find(words[3], kScales, TUNER_SCALES);
    if (table < 0 || generation < 0 || scale < 0) {
        return refuse(parser, "unknown table, generation or number of nodes");
    }
    size_t const offset = offsetof(struct tuner_constants, ll_max) +
                          sizeof(double[TUNER_GENERATIONS][TUNER_SCALES]) * (size_t)table;
    return set_constant(
        parser, offset + sizeof(double) * (size_t)(generation * TUNER_SCALES + scale), words[4]);
}

/* region COLLECTIVE START STOP RANKS NODES ALGO PROTO CHANNELS */
static bool parse_region(struct parser* parser, char** words, int count) {
    if (count != 9) {
        return refuse(parser, "region COLLECTIVE START STOP RANKS NODES ALGO PROTO CHANNELS");
    }
    if (parser->file->region_count == TUNER_REGIONS_MAX) return refuse(parser, "too many regions");
    struct tuner_region region = {.collective = find(words[1], kCollectives, TUNER_COLLECTIVES),
                                  .algo = find(words[6], kAlgos, TUNER_ALGOS),
                                  .proto = find(words[7], kProtos, TUNER_PROTOS)};
    uint64_t channels = 0;
    if (region.collective < 0) return refuse(parser, "unknown collective");
    if (region.algo < 0 || region.proto < 0) {
        return refuse(parser, "unknown algorithm or protocol");
    }
    if (!read_integer(words[2], UINT64_MAX, &region.start_bytes) ||
        !read_integer(words[3], UINT64_MAX, &region.stop_bytes) ||
        region.stop_bytes <= region.start_bytes) {
        return refuse(parser, "START and STOP are not a range of bytes");
    }
    if (!read_integer(words[4], UINT32_MAX, &region.ranks) ||
        !read_integer(words[5], UINT32_MAX, &region.nodes) ||
        (region.ranks != 0 && region.nodes > region.ranks)) {
        return refuse(parser, "RANKS and NODES are no group");
    }
    if (!read_integer(words[8], TUNER_CHANNELS_MAX, &channels)) {
        return refuse(parser, "CHANNELS is not 0 to 64");
    }
    region.channels = (int)channels;
    parser->file->regions[parser->file->region_count++] = region;
    return true;
}

static bool parse_line(struct parser* parser, char* line) {
    if (parser->line == 1) {
        return strcmp(line, "osora-tuner 1") == 0 || refuse(parser, "not 'osora-tuner 1'");
    }
    if (parser->ended) return refuse(parser, "something follows 'end'");
    if (*line == '#') return true;
    char* words[9];
    int const count = split(line, words, 9);
    if (strcmp(words[0], "latency") == 0) return parse_latency(parser, words, count);
    if (strcmp(words[0], "bandwidth") == 0) return parse_bandwidth(parser, words, count);
    if (strcmp(words[0], "region") == 0) return parse_region(parser, words, count);
    if (strcmp(words[0], "end") == 0 && count == 1) return parser->ended = true;
    if (strcmp(words[0], "regions") == 0 && count == 2 && strcmp(words[1], "always") == 0) {
        return parser->file->regions_always = true;
    }
    return refuse(parser, "unknown keyword");
}

bool osora_parse_tuner_file(size_t size, struct tuner_file* file, char error[OSORA_ERROR_MAX]) {
    struct parser parser = {file, error, 0, false};
    file->constant_count = file->region_count = 0;
    file->regions_always = false;
    memset(file->given, 0, sizeof file->given);
    char* line = file->text;
    char* const end = file->text + size;
    while (line < end) {
        ++parser.line;
        char* newline = memchr(line, '\n', (size_t)(end - line));
        if (newline == NULL) return refuse(&parser, "cut off");
        *newline = '\0';
        for (char const* at = line; at < newline; ++at) {
            if (*at < 0x20 || *at > 0x7e) {
                return refuse(&parser, "a byte that is not printable ASCII");
            }
        }
        if (!parse_line(&parser, line)) return false;
        line = newline + 1;
    }
    return parser.ended || refuse(&parser, "no 'end': cut off");
}
