// SIGINT, SIGTERM and SIGWINCH as a descriptor to read. Between open() and destruction they have no
// default effect.
#pragma once

#include "base/files/descriptor.hpp"

#include <csignal>
#include <vector>

namespace osora::cli {

class SignalSource {
public:
    [[nodiscard]] static SignalSource open();
    ~SignalSource();
    SignalSource(SignalSource&&) = default;

    [[nodiscard]] int descriptor() const { return file_.get(); }
    /// Signals received since the last call.
    [[nodiscard]] std::vector<int> take();

private:
    SignalSource(Descriptor file, sigset_t before) : file_(std::move(file)), before_(before) {}
    Descriptor file_;
    sigset_t before_;
};

}  // namespace osora::cli
