#include "base/host_name.hpp"

#include <unistd.h>

#include <array>

namespace osora {

std::string host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::string node_name(Environment const& environment) {
    return variable_or(environment, "SLURMD_NODENAME", host_name());
}

}  // namespace osora
