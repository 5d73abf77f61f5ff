#include "worker/clips/clip_model.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/sha256.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace osora::worker {

std::filesystem::path beside_program(std::string_view name) {
    std::error_code error;
    auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
    return program.parent_path().parent_path() / "lib" / name;
}

Result<std::unique_ptr<ClipModel>> open_clip_model(std::filesystem::path const& module,
                                                   ModelFile const& file) {
    void* const library = ::dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return invalid(fmt::format("scores by TorchScript files: {} does not load: {}",
                                   module.string(), ::dlerror()));
    }
    using Entry = ScoreModels const* (*)();
    auto const entry = reinterpret_cast<Entry>(::dlsym(library, "osora_score_models"));
    ScoreModels const* const found = entry != nullptr ? entry() : nullptr;
    if (found == nullptr || found->version != kScoreModelsVersion) {
        return invalid(
            fmt::format("scores by TorchScript files: {} belongs to another version of osora; "
                        "rebuild it",
                        module.string()));
    }
    return found->open(file);
}

Result<std::string> model_hash(std::filesystem::path const& file) {
    constexpr std::size_t kDigits = 16, kReadBytes = 1 << 20;
    OSORA_TRY(auto const opened, open_regular(file));
    std::vector<unsigned char> bytes(kReadBytes);
    Sha256 sum;
    for (;;) {
        auto const got = ::read(opened.get(), bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", file);
        if (got == 0) return sum.finish().substr(0, kDigits);
        sum.add({bytes.data(), static_cast<std::size_t>(got)});
    }
}

}  // namespace osora::worker
