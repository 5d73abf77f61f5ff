// plan_time: the CPU time of a plan by cluster size, with every cut and a table of eight buckets;
// and of one for GPUs by name, rates of data sheets included, as of `osora plan --model`, also with
// frozen blocks. Exit code 1 when one for 1,024 GPUs takes a second or more.
#include "plan/evaluate/nominal_rates.hpp"
#include "plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

namespace osora::bench {
namespace {

constexpr double kLimit_s = 1;

plan::PlanRequest request(int nodes, bool pipelines) {
    plan::PlanRequest r;
    r.config.model.arch = "stdit3-xl/2";
    r.config.data.latents = "cache";
    r.config.resources.nodes = nodes;
    r.config.resources.gpus_per_node = 8;
    r.config.batch.min = 64;
    if (pipelines) r.config.parallel.pp_size.value.reset();
    for (char const* const resolution : {"144p", "240p", "360p", "720p"}) {
        for (int const frames : {1, 51}) r.config.bucket.push_back({resolution, frames, 0.5, {}});
    }
    topology::Node node{"n", 96, std::int64_t{1} << 40, {}};
    node.gpus.assign(8, {"NVIDIA H100", std::int64_t{80} << 30});
    r.cluster.nodes.assign(static_cast<std::size_t>(nodes), node);
    r.calibration = plan::nominal_gpu();
    return r;
}

plan::PlanRequest named_request(int nodes, std::string const& arch) {
    plan::PlanRequest r = request(nodes, true);
    r.config.model.arch = arch;
    r.latents = plan::model_shape(arch).value().vae;
    auto const gpu = plan::HardwareTable::built_in().find("h100-80g-sxm").value();
    plan::plan_for_gpus({gpu, nodes, 8, 400}, 0, r);
    return r;
}

/// CPU seconds of the fastest of five.
double plan_s(plan::PlanRequest const& r, std::string& what) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        std::clock_t const start = std::clock();
        auto const decision = plan::make_plan(r);
        best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        what = decision ? decision->reasons.front() : decision.error().message;
    }
    return best;
}

}  // namespace
}  // namespace osora::bench

int main() {
    using namespace osora::bench;
    bool within = true;
    for (bool const pipelines : {false, true}) {
        for (int const nodes : {1, 8, 128}) {
            std::string what;
            double const took_s = plan_s(request(nodes, pipelines), what);
            fmt::print("{:>5} GPUs, pp {:<4} {:>8.1f} ms   {}\n", 8 * nodes,
                       pipelines ? "auto" : "1", 1e3 * took_s, what);
            within = within && (nodes < 128 || took_s < kLimit_s);
        }
    }
    for (std::string const arch : {"stdit3-xl/2", "mmdit-11b"}) {
        for (int const nodes : {8, 128}) {
            std::string what;
            double const took_s = plan_s(named_request(nodes, arch), what);
            fmt::print("{:>5} x h100-80g-sxm, {:<11} {:>8.1f} ms   {}\n", 8 * nodes, arch,
                       1e3 * took_s, what);
            within = within && (nodes < 128 || took_s < kLimit_s);
        }
    }
    auto frozen = named_request(128, "mmdit-11b");
    frozen.config.optim.freeze = {"double_blocks.", "img_in."};
    std::string what;
    double const took_s = plan_s(frozen, what);
    fmt::print(" 1024 x h100-80g-sxm, frozen      {:>8.1f} ms   {}\n", 1e3 * took_s, what);
    within = within && took_s < kLimit_s;
    return within ? 0 : 1;
}
