// SIGINT, SIGTERM and SIGWINCH as something to read. From open() until its end they no longer act
// by themselves.
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
    /// Signals that came since the last call.
    [[nodiscard]] std::vector<int> take();

private:
    SignalSource(Descriptor file, sigset_t before) : file_(std::move(file)), before_(before) {}
    Descriptor file_;
    sigset_t before_;
};

}  // namespace osora::cli
