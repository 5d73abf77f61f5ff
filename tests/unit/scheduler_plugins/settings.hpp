// The plug-in's reader as C++ sees it.
#pragma once

#include <memory>
#include <string>

extern "C" {
#include "scheduler_plugins/slurm/settings_file.h"
#include "scheduler_plugins/slurm/step.h"
}

namespace osora::spank {

struct Parsed {
    bool good = false;
    std::string error;
    std::unique_ptr<osora_settings> settings = std::make_unique<osora_settings>();
};

/// Parses bytes that need not be text; at most OSORA_FILE_MAX of them.
inline Parsed parse(std::string const& text, osora_file_kind kind = OSORA_NODE_PROFILE) {
    Parsed parsed;
    char error[OSORA_ERROR_MAX] = "";
    std::size_t const size = text.copy(parsed.settings->text, OSORA_FILE_MAX);
    parsed.settings->text[size] = '\0';
    parsed.good = osora_parse_settings(kind, size, parsed.settings.get(), error);
    parsed.error = error;
    return parsed;
}

}  // namespace osora::spank
