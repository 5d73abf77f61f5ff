#include "daemon/backends/make_backend.hpp"

#include "daemon/backends/local.hpp"
#include "daemon/backends/slurm/make_slurm_backend.hpp"
#include "daemon/backends/ssh/make_ssh_backend.hpp"

#include <fmt/format.h>

namespace osora::daemon {
namespace {

constexpr MonotonicTime kLongLease = std::chrono::minutes(15);
// At the end of the job the scheduler kills what still runs; nothing does before.
constexpr MonotonicTime kLeaseOfJob = std::chrono::hours(24 * 365);
constexpr MonotonicTime kAdoptLimit = std::chrono::seconds(15);

}  // namespace

Result<BackendTraits> backend_traits(std::string_view backend, bool supervised) {
    BackendTraits traits;
    if (backend == "local") {
        if (!supervised) return traits;
        traits.outlive = true;
        traits.lease = kLongLease;
        traits.adopt_limit = kAdoptLimit;
        return traits;
    }
    if (backend != "ssh" && backend != "slurm") {
        return Error{Errc::invalid_input, fmt::format("backend '{}': unknown", backend)};
    }
    traits.other_hosts = traits.outlive = true;
    traits.lease = backend == "slurm" ? kLeaseOfJob : kLongLease;
    traits.adopt_limit = kAdoptLimit;
    return traits;
}

Result<std::unique_ptr<Backend>> make_backend(BackendSetup setup, TaskGroup& tasks, Logger& log,
                                              Backend::OnExited on_exited) {
    std::string const name = setup.config.resources.backend;
    if (name == "local") {
        LocalOptions options;
        options.osorad = std::move(setup.osorad);
        options.environment = std::move(setup.environment);
        options.start = std::move(setup.start);
        options.outlive = setup.traits.outlive;
        options.spared = std::move(setup.spared);
        return std::make_unique<LocalBackend>(std::move(options), tasks, log, std::move(on_exited));
    }
    if (name == "slurm") {
        return make_slurm_backend(std::move(setup), tasks, log, std::move(on_exited));
    }
#ifdef OSORA_HAVE_SSH
    if (name == "ssh") return make_ssh_backend(std::move(setup), tasks, log, std::move(on_exited));
#endif
    return Error{Errc::invalid_input,
                 fmt::format("backend '{}': this osorad was built without it", name)};
}

}  // namespace osora::daemon
