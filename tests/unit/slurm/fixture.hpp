// A file of tests/data/slurm: what Slurm's commands printed.
#pragma once

#include "base/files/files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace osora::slurm {

[[nodiscard]] inline std::string fixture(std::string const& name) {
    auto const text = read_file(std::string(OSORA_SOURCE_DIR "/tests/data/slurm/") + name);
    EXPECT_TRUE(text.has_value()) << text.error().message;
    return text.has_value() ? *text : "";
}

}  // namespace osora::slurm
