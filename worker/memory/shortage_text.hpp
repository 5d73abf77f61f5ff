// What people read of an allocator's message; the report of the rank has the whole text.
// Header-only.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace osora::worker {

/// The first line, without what LibTorch adds about the process, its own reserve and settings
/// (osora has made them): "CUDA out of memory. Tried to allocate 972.00 MiB. GPU 0 has a total
/// capacity of 139.80 GiB of which 31.12 MiB is free."
[[nodiscard]] inline std::string in_brief(std::string_view text) {
    bool const out_of_memory = text.find("out of memory") != text.npos;
    text = text.substr(0, text.find('\n'));
    if (text.find("Tried to allocate") == text.npos) {
        // NCCL says so in its last line.
        bool const said = !out_of_memory || text.find("out of memory") != text.npos;
        return std::string(text) + (said ? "" : ": out of memory");
    }
    auto end = text.size();
    for (std::string_view const after :
         {" Including non-PyTorch", " Process ", " Of the allocated", " If reserved"})
        end = std::min(end, text.find(after));
    return std::string(text.substr(0, end));
}

}  // namespace osora::worker
