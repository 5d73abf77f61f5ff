// Turns options into a run file and a cluster; the rest of planning is the same.
#include "cli/plan/plan_subject.hpp"

#include "base/files/files.hpp"
#include "base/text/nearest.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/topology_source.hpp"
#include "plan/config/fields.hpp"
#include "plan/layout/divisibility.hpp"
#include "plan/worker_support.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace osora::cli {
namespace {

constexpr int kGpusMax = 1'000'000, kFramesMax = 100'000;
constexpr std::string_view kShown = "command line";  // printed in place of a run file's name

Result<std::string> known_model(std::string const& name) {
    auto const names = plan::model_names();
    if (std::ranges::find(names, name) != names.end()) return name;
    if (lower(name).starts_with("gpt")) {
        return invalid(
            fmt::format("--model {}: sizes and layouts of GPTs are answered by osora "
                        "plan evaluate, a row each; here: {}",
                        name, fmt::join(names, ", ")));
    }
    std::vector<std::string_view> const views(names.begin(), names.end());
    auto const near = nearest_name(name, views);
    return Error{Errc::not_found,
                 fmt::format("--model {}: no such model; {}", name,
                             near ? fmt::format("did you mean {}?", *near)
                                  : fmt::format("valid: {}", fmt::join(names, ", ")))};
}

bool trains_on_pixels(std::string const& model) {
    auto const pixels = plan::WorkerSupport().pixel_archs;
    return std::ranges::find(pixels, model) != pixels.end();
}

Result<plan::BucketSection> bucket_of_words(std::string const& option, std::string const& model,
                                            std::string const& resolution,
                                            std::string const& frames) {
    plan::BucketSection bucket;
    bucket.resolution = resolution;
    auto const* const end = frames.data() + frames.size();
    auto const [at, error] = std::from_chars(frames.data(), end, bucket.num_frames);
    if (error != std::errc{} || at != end || bucket.num_frames < 1 ||
        bucket.num_frames > kFramesMax) {
        return invalid(fmt::format("{}: {} frames: must be a whole number from 1 to {}", option,
                                   frames.empty() ? "\"\"" : frames, kFramesMax));
    }
    OSORA_TRY(auto const shape, plan::model_shape(model));
    auto key = plan::nominal_key({.resolution = bucket.resolution, .num_frames = bucket.num_frames},
                                 shape.pixel_multiple());
    if (key.has_error()) return Error(key.error()).in(option);
    return bucket;
}

Result<std::vector<plan::BucketSection>> buckets_of(Arguments const& arguments,
                                                    std::string const& model) {
    std::vector<plan::BucketSection> buckets;
    for (std::string const& word : arguments.all("--bucket")) {
        std::string const option = "--bucket " + word;
        std::size_t const colon = word.rfind(':');
        if (colon == std::string::npos) {
            return invalid(option + ": must be RESOLUTION:FRAMES, as in 360p:51");
        }
        OSORA_TRY(auto bucket,
                  bucket_of_words(option, model, word.substr(0, colon), word.substr(colon + 1)));
        buckets.push_back(std::move(bucket));
    }
    auto const resolutions = arguments.all("--resolution");
    auto const frames = arguments.all("--num-frames");
    if (resolutions.size() != frames.size()) {
        return invalid(
            fmt::format("--resolution is given {} times and --num-frames {} times: "
                        "each bucket needs both, or --bucket 360p:51",
                        resolutions.size(), frames.size()));
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
        std::string const option =
            fmt::format("--resolution {} --num-frames {}", resolutions[i], frames[i]);
        OSORA_TRY(auto bucket, bucket_of_words(option, model, resolutions[i], frames[i]));
        buckets.push_back(std::move(bucket));
    }
    return buckets;
}

Result<plan::HardwareTable> hardware_of(Arguments const& arguments) {
    auto hardware = plan::HardwareTable::built_in();
    if (auto const file = arguments.value("--hardware")) {
        OSORA_TRY(auto const text, read_file(*file, 1 << 24));
        OSORA_TRY_VOID(hardware.add(text, *file));
    }
    return hardware;
}

/// The options that describe the cluster, without --gpus.
Result<plan::ClusterRequest> cluster_request(Context const& context, Arguments const& arguments) {
    plan::ClusterRequest request;
    OSORA_TRY(request.nodes, arguments.number("--nodes", 1, kGpusMax));
    OSORA_TRY(request.gpus_per_node, arguments.number("--gpus-per-node", 1, 1024));
    OSORA_TRY(request.nic_gbit, arguments.real("--nic-gbit", 1e-3, 1e6));
    request.gpu = arguments.value("--gpu");
    auto const name = arguments.value("--topology-name");
    if (auto const source = arguments.value("--topology")) {
        if (source->empty()) return invalid("--topology: names no file, folder or synthetic:...");
        request.source = *source;
        OSORA_TRY(request.topology, load_topology(context, *source, name.value_or("")));
        auto const& [fabric, machines] = request.topology;
        if (machines.empty() && fabric.switches.empty() && fabric.blocks.empty()) {
            return invalid(*source + ": no node in it");
        }
    } else if (name) {
        return invalid("--topology-name: needs --topology");
    }
    for (char const* const option : {"--hardware", "--nic-gbit"}) {
        if (request.gpu || !request.source.empty() || !arguments.has(option)) continue;
        return invalid(fmt::format("{}: needs --gpu or --topology", option));
    }
    return request;
}

void take_cluster(plan::NamedCluster cluster, std::string const& source, PlanSubject& subject) {
    auto const& gpus = cluster.gpus;
    subject.machine = fmt::format(
        "{} x {}: {} of {}{}", format_count(std::int64_t{gpus.nodes} * gpus.gpus_per_node),
        gpus.gpu.name, counted(gpus.nodes, "node"), counted(gpus.gpus_per_node, "GPU"),
        source.empty() ? "" : " (" + source + ")");
    cluster.node.gpus.assign(static_cast<std::size_t>(gpus.gpus_per_node), {gpus.gpu.name, 0});
    subject.inputs.cluster.nodes.assign(static_cast<std::size_t>(gpus.nodes), cluster.node);
    subject.inputs.gpus = NamedGpus{cluster.gpus, cluster.memory_bytes};
    std::ranges::move(cluster.taken, std::back_inserter(subject.taken));
}

/// Nodes like this machine.
Result<std::pair<int, int>> shape_of_this(plan::ClusterRequest const& request,
                                          topology::Cluster const& machine) {
    int const here = static_cast<int>(machine.nodes.front().gpus.size());
    int each = request.gpus_per_node.value_or(0);
    if (each == 0 && request.nodes && request.gpus % *request.nodes == 0) {
        each = request.gpus / *request.nodes;
    }
    if (each == 0) each = here > 0 ? std::min(here, request.gpus) : request.gpus;
    int const nodes = request.nodes.value_or(request.gpus / each);
    if (std::int64_t{nodes} * each != request.gpus) {
        auto const valid = plan::nearest_multiples(request.nodes.value_or(each), request.gpus);
        return invalid(fmt::format(
            "--gpus {}: does not divide into {}; nearest valid: {}", request.gpus,
            request.nodes ? counted(*request.nodes, "node") : fmt::format("nodes of {}", each),
            fmt::join(valid, ", ")));
    }
    if (here > 0 && each > here) {
        return invalid(fmt::format("--gpus-per-node {}: this machine has {}; nearest valid: {}",
                                   each, here, here));
    }
    return std::pair(nodes, each);
}

Result<PlanSubject> subject_of_model(Context const& context, Arguments const& arguments) {
    OSORA_TRY(ModelOptions options, model_options(arguments));
    OSORA_TRY(auto const hardware, hardware_of(arguments));
    OSORA_TRY(plan::ClusterRequest request, cluster_request(context, arguments));
    OSORA_TRY(auto const gpus, arguments.number("--gpus", 1, kGpusMax));
    if (!gpus) return invalid("--gpus is missing: how many the model is trained on");
    request.gpus = *gpus;
    PlanSubject subject;
    subject.taken = options.taken;
    int nodes = 1, gpus_per_node = *gpus;
    if (request.gpu || !request.source.empty()) {
        OSORA_TRY(auto cluster, plan::named_cluster(request, hardware));
        nodes = cluster.gpus.nodes;
        gpus_per_node = cluster.gpus.gpus_per_node;
        take_cluster(std::move(cluster), request.source, subject);
    } else {
        subject.inputs.cluster = local_cluster(context);
        OSORA_TRY(auto const shape, shape_of_this(request, subject.inputs.cluster));
        nodes = shape.first;
        gpus_per_node = shape.second;
        bool const gpu = !subject.inputs.cluster.nodes.front().gpus.empty();
        subject.taken.push_back(fmt::format(
            "{}; --gpu or --topology names others",
            gpu ? "GPUs of this machine" : "CPU ranks: this machine has no GPU for osora"));
    }
    plan::ConfigRequest config = config_request(context, arguments);
    config.run_file_shown = kShown;
    config.run_text = run_file_text(options, nodes, gpus_per_node);
    subject.resolved = plan::load_config(config);
    for (auto& each : subject.resolved.problems) {  // the user has not seen the lines of this run
                                                    // file
        if (each.where.file == kShown) each.where.line = 0;
    }
    auto const& resources = subject.resolved.config.resources;
    bool const read = subject.resolved.problems.empty();
    if (read && (resources.nodes != nodes || resources.gpus_per_node != gpus_per_node)) {
        return invalid(
            "--set resources.nodes, gpus_per_node: --gpus, --nodes and --gpus-per-node "
            "say it");
    }
    subject.inputs.base_dir = plan::base_dir_of("run.toml");
    subject.inputs.assumed_latents = subject.resolved.config.data.latents == kAssumedData;
    return subject;
}

Result<PlanSubject> subject_of_run(Context const& context, Arguments const& arguments) {
    constexpr std::array kOfModel{"--gpus",   "--nodes",      "--gpus-per-node",
                                  "--bucket", "--resolution", "--num-frames"};
    for (char const* const option : kOfModel) {
        if (!arguments.has(option)) continue;
        return invalid(
            fmt::format("{}: is used with --model; a run file says it, and --set "
                        "changes it",
                        option));
    }
    PlanSubject subject;
    subject.resolved = plan::load_config(config_request(context, arguments));
    subject.inputs.cluster = local_cluster(context);
    subject.inputs.base_dir = plan::base_dir_of(subject.resolved.run_file);
    OSORA_TRY(plan::ClusterRequest request, cluster_request(context, arguments));
    bool const named = request.gpu || !request.source.empty();

    if (!named || !subject.resolved.problems.empty()) return subject;
    auto const& resources = subject.resolved.config.resources;
    std::int64_t const ranks = std::int64_t{resources.nodes} * resources.gpus_per_node;
    if (ranks > kGpusMax) return invalid(fmt::format("{} ranks are more than {}", ranks, kGpusMax));
    request.gpus = static_cast<int>(ranks);
    request.nodes = resources.nodes;
    request.gpus_per_node = resources.gpus_per_node;
    OSORA_TRY(auto const hardware, hardware_of(arguments));
    OSORA_TRY(auto cluster, plan::named_cluster(request, hardware));
    take_cluster(std::move(cluster), request.source, subject);
    return subject;
}

}  // namespace

Result<ModelOptions> model_options(Arguments const& arguments) {
    ModelOptions options;
    OSORA_TRY(options.model, known_model(arguments.value("--model").value_or("")));
    OSORA_TRY(options.buckets, buckets_of(arguments, options.model));
    bool const pixels = trains_on_pixels(options.model);
    if (options.buckets.empty()) {
        plan::BucketSection usual;
        usual.resolution = pixels ? "64" : "360p";
        usual.num_frames = pixels ? 8 : 51;
        options.buckets.push_back(std::move(usual));
        options.taken.push_back(fmt::format("bucket {} x {}: --bucket names others",
                                            options.buckets.front().resolution,
                                            options.buckets.front().num_frames));
    }
    options.taken.push_back(pixels ? "no data set: pictures are square"
                                   : "no data set: latents are cached, pictures are square");
    return options;
}

std::string run_file_text(ModelOptions const& options, int nodes, int gpus_per_node) {
    std::string text = fmt::format(
        "[run]\nname = \"plan\"\n"
        "[resources]\nbackend = \"{}\"\nnodes = {}\ngpus_per_node = {}\n"
        "[model]\narch = {}\n"
        "[data]\n{} = {}\n"
        "[parallel]\npp_size = \"auto\"\n",
        nodes > 1 ? "slurm" : "local", nodes, gpus_per_node, plan::toml_string(options.model),
        trains_on_pixels(options.model) ? "manifest" : "latents", plan::toml_string(kAssumedData));
    // Every rank of the largest group needs a sample.
    std::int64_t const ranks = std::int64_t{nodes} * gpus_per_node;
    if (ranks > plan::BatchSection().max) text += fmt::format("[batch]\nmax = {}\n", ranks);
    for (plan::BucketSection const& bucket : options.buckets) {
        text += fmt::format("[[bucket]]\nresolution = {}\nnum_frames = {}\n",
                            plan::toml_string(bucket.resolution), bucket.num_frames);
    }
    return text;
}

Result<PlanSubject> plan_subject(Context const& context, Arguments const& arguments) {
    bool const run = arguments.has("RUN.toml"), model = arguments.has("--model");
    if (run && model) return invalid("--model: a run file names its own; leave one of them out");
    if (model) return subject_of_model(context, arguments);
    if (run) return subject_of_run(context, arguments);
    return invalid("plan: RUN.toml is missing, or --model MODEL --gpus N");
}

}  // namespace osora::cli
