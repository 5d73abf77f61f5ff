#include "worker/jobs/sample/sample_request.hpp"

#include "base/text/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace osora::worker {
namespace {

constexpr int kStepsMax = 10000;

Error invalid(std::string message) {
    return Error{Errc::invalid_input, std::move(message)};
}

template <class N>
std::optional<N> parsed(std::string_view text) {
    N value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

template <class N>
Result<void> read(std::string const& name, std::string const& text, N low, N high, N& into) {
    auto const value = parsed<N>(text);
    if (!value || !(*value >= low && *value <= high)) {
        return invalid(fmt::format("{} {}: expected a number in [{}, {}]", name, text, low, high));
    }
    into = *value;
    return {};
}

/// "640x360": width x height.
Result<void> read_size(std::string const& text, SampleRequest& request) {
    auto const cross = text.find('x');
    auto const width = parsed<int>(std::string_view(text).substr(0, cross));
    auto const height = cross == std::string::npos
                            ? std::nullopt
                            : parsed<int>(std::string_view(text).substr(cross + 1));
    auto const fits = [](std::optional<int> side) {
        return side && *side >= 1 && *side <= kSampleSideMax;
    };
    if (!fits(width) || !fits(height)) {
        return invalid(
            fmt::format("--size {}: expected WIDTHxHEIGHT as in 640x360, at most {} a "
                        "side",
                        text, kSampleSideMax));
    }
    request.width = *width;
    request.height = *height;
    return {};
}

Result<void> read_option(std::string const& name, std::string const& text, SampleRequest& request) {
    if (name == "--frames") return read(name, text, 1, kSampleFramesMax, request.num_frames);
    if (name == "--size") return read_size(text, request);
    if (name == "--steps") return read(name, text, 1, kStepsMax, request.steps);
    if (name == "--seed")
        return read(name, text, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                    request.seed);
    if (name == "--fps") return read(name, text, 0.1, 1000.0, request.fps);
    if (name == "--cfg-scale") {
        double scale = 0;
        OSORA_TRY_VOID(read(name, text, 0.0, 1000.0, scale));
        request.cfg_scale = scale;
        return {};
    }
    if (name == "--precision") {
        constexpr std::string_view kKnown[] = {"fp32", "bf16", "fp16"};
        if (std::ranges::find(kKnown, text) == std::end(kKnown)) {
            auto const near = nearest_name(text, kKnown);
            return invalid(fmt::format("--precision {}: expected fp32, bf16 or fp16{}", text,
                                       near ? fmt::format("; did you mean {}?", *near) : ""));
        }
        request.precision = text;
        return {};
    }
    if (text.empty()) return invalid(name + ": needs a value");
    if (name == "--embeddings") request.embeddings = text;
    if (name == "--out") request.out = text;
    if (name == "--weights") request.weights = text;
    if (name == "--vae") request.vae_arch = text;
    if (name == "--vae-weights") request.vae_weights = text;
    return {};
}

}  // namespace

Result<SampleRequest> parse_sample_request(std::span<std::string const> words) {
    constexpr std::string_view kOptions[] = {
        "--frames",     "--size", "--steps", "--seed",        "--fps",     "--cfg-scale",
        "--embeddings", "--out",  "--vae",   "--vae-weights", "--weights", "--precision"};
    SampleRequest request;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string const& word = words[i];
        if (word == "--ema" || word == "--no-ema") {
            request.ema = word == "--ema";
        } else if (!word.starts_with("--")) {
            if (!request.checkpoint.empty() || word.empty())
                return invalid(fmt::format("'{}': give one checkpoint", word));
            request.checkpoint = word;
        } else if (std::ranges::find(kOptions, word) == std::end(kOptions)) {
            auto const near = nearest_name(word, kOptions);
            return invalid(fmt::format("unknown option {}{}", word,
                                       near ? fmt::format("; did you mean {}?", *near) : ""));
        } else {
            if (++i == words.size()) return invalid(word + ": needs a value");
            OSORA_TRY_VOID(read_option(word, words[i], request));
        }
    }
    if (request.checkpoint.empty()) return invalid("give a checkpoint: the folder step-NNNNNNNN");
    return request;
}

}  // namespace osora::worker
