#include "worker/clips/text_reader.hpp"

#include "protocol/clip_score.hpp"
#include "worker/clips/clip_model.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace osora::worker {

double covered_share(std::vector<TextBox> const& boxes, int height, int width) {
    auto const pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    if (pixels == 0) return 0;
    std::vector<bool> covered(pixels);
    for (TextBox const& box : boxes) {
        int const right = std::min(width, box.left + box.width);
        int const bottom = std::min(height, box.top + box.height);
        for (int y = std::max(0, box.top); y < bottom; ++y) {
            for (int x = std::max(0, box.left); x < right; ++x)
                covered[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                        static_cast<std::size_t>(x)] = true;
        }
    }
    return static_cast<double>(std::ranges::count(covered, true)) / static_cast<double>(pixels);
}

std::filesystem::path text_module_path() {
    return beside_program("libosora_text.so");
}

Result<std::unique_ptr<TextReader>> open_text_reader(std::filesystem::path const& module) {
    std::error_code ignored;
    if (!std::filesystem::exists(module, ignored))
        return invalid("score text: " + std::string(protocol::kNoTextReader));
    // Read by OpenMP when it is loaded. Clips are read side by side already.
    ::setenv("OMP_THREAD_LIMIT", "1", 0);
    void* const library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return invalid(
            fmt::format("score text: {} does not load: {}", module.string(), ::dlerror()));
    using Entry = TextModule const* (*)();
    auto const entry = reinterpret_cast<Entry>(::dlsym(library, "osora_text_module"));
    TextModule const* const found = entry != nullptr ? entry() : nullptr;
    if (found == nullptr || found->version != kTextModuleVersion)
        return invalid(fmt::format("score text: {} belongs to another version of osora; rebuild it",
                                   module.string()));
    return found->make();
}

}  // namespace osora::worker
