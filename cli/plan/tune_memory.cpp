#include "cli/plan/tune_memory.hpp"

#include "base/files/files.hpp"
#include "base/sha256.hpp"
#include "cli/command/state_folder.hpp"
#include "plan/config/run_file.hpp"
#include "protocol/json.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/describe.hpp>

namespace osora::cli {

BOOST_DESCRIBE_STRUCT(TuneShape, (), (backend, cluster, arch, nodes, ranks_per_node))

namespace {

struct Remembered {
    TuneShape shape;
    plan::TuneSettings kept;
};
BOOST_DESCRIBE_STRUCT(Remembered, (), (shape, kept))

Result<std::filesystem::path> path_of(Context const& context, TuneShape const& shape) {
    constexpr std::size_t kNameDigits = 16;
    OSORA_TRY(auto const state, state_dir(context.environment));
    auto const name = sha256_hex(protocol::encode(shape)).substr(0, kNameDigits);
    return protocol::StatePaths{state}.tuned() / (name + ".json");
}

}  // namespace

TuneShape shape_of(plan::RunConfig const& config) {
    TuneShape shape;
    shape.backend = config.resources.backend;
    shape.cluster = shape.backend == "slurm" ? config.slurm.partition
                    : shape.backend == "ssh" ? fmt::format("{}", fmt::join(config.ssh.hosts, ","))
                                             : std::string();
    shape.arch = config.model.arch;
    shape.nodes = config.resources.nodes;
    shape.ranks_per_node = config.resources.gpus_per_node;
    return shape;
}

Result<void> remember_tuning(Context const& context, TuneShape const& shape,
                             plan::TuneSettings const& kept) {
    OSORA_TRY(auto const path, path_of(context, shape));
    OSORA_TRY_VOID(make_own_folder(path.parent_path(), parents_of(context.environment)));
    return write_file_atomic(path, protocol::encode(Remembered{shape, kept}) + "\n", 0600);
}

Result<plan::TuneSettings> remembered_tuning(Context const& context, TuneShape const& shape) {
    constexpr std::int64_t kBytesMax = 1 << 20;
    OSORA_TRY(auto const path, path_of(context, shape));
    auto const text = read_file(path, kBytesMax);
    if (text.has_error()) return Error{Errc::not_found, "such runs were never tuned"};
    OSORA_TRY(auto remembered, protocol::decode<Remembered>(*text));
    return std::move(remembered.kept);
}

std::string tuning_hint(Context const& context, plan::RunConfig const& config) {
    auto const kept = remembered_tuning(context, shape_of(config));
    if (kept.has_error()) return "";
    std::vector<std::string> missing;
    for (auto const& [key, value] : *kept) {
        auto const now = plan::value_text(config, key);
        if (now != value && now != '"' + value + '"') missing.push_back(key + "=" + value);
    }
    if (missing.empty()) return "";
    return fmt::format("osora tune kept {} for such runs; it is not in this run file",
                       fmt::join(missing, ", "));
}

}  // namespace osora::cli
