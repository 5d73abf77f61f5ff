// The measurements that earlier probes left in STATE/probes: the newest one of some hosts that is
// not too old. Used by planner, doctor, bisect, and before a launch. A file that cannot be read, is
// cut off or has another version is ignored, as if nobody had measured.
#pragma once

#include "base/result.hpp"
#include "topology/probe_result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace osora::topology {

/// The hosts that a probe must have measured.
struct ProbedHosts {
    std::vector<std::string> names = {};
    std::size_t at_least = 0;  // so many of `names`; others may be among its nodes
    bool exactly = false;      // the probe that was kept for `names`; `at_least` is then not used
};

/// When the figures were measured that a caller uses.
struct ProbeTime {
    bool preferred = false;  // to all that are not, also to newer ones
    std::int64_t wall_us = 0;
    friend auto operator<=>(ProbeTime const&, ProbeTime const&) = default;
};
/// nullopt: the caller cannot use this probe.
using ProbeTimeOf = std::function<std::optional<ProbeTime>(ProbeResult const&)>;

class ProbeCache {
public:
    /// Reads one file: protocol::read_json_file<ProbeResult>, since topology/ knows no JSON.
    using Read = std::function<Result<ProbeResult>(std::filesystem::path const&)>;
    static constexpr std::size_t kFilesMax = 64;  // so many are read, those written last

    /// `folder`: STATE/probes, which need not exist. `now_us`: since 1970 UTC.
    ProbeCache(std::filesystem::path folder, Read read, std::int64_t now_us)
        : folder_(std::move(folder)), read_(std::move(read)), now_us_(now_us) {}

    /// The newest probe of these hosts that is at most `age_max_s` old; one from the future is not
    /// used. `time_of`: without it the time at which the probe ended counts.
    [[nodiscard]] std::optional<ProbeResult> newest(ProbedHosts const& hosts, double age_max_s,
                                                    ProbeTimeOf const& time_of = {}) const;

    /// Seconds from then until now.
    [[nodiscard]] double age_s(std::int64_t wall_us) const;

    /// "HASH.json": the file in which a probe of these hosts is kept; their order does not matter.
    [[nodiscard]] static std::string name_of(std::vector<std::string> hosts);

private:
    [[nodiscard]] std::vector<std::filesystem::path> files(ProbedHosts const& hosts) const;

    std::filesystem::path folder_;
    Read read_;
    std::int64_t now_us_;
};

}  // namespace osora::topology
