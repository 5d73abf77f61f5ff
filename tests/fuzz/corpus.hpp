// What fuzz tests start from: files of tests/fuzz/corpus, and those that once found something.
#pragma once

#include "base/files/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::fuzz {

/// The files of tests/`folder`, by name; a test without any fails.
inline std::vector<std::string> corpus_of(std::string const& folder,
                                          std::string const& ending = "") {
    auto const path = std::filesystem::path(OSORA_SOURCE_DIR) / "tests" / folder;
    std::vector<std::filesystem::path> files;
    for (auto const& each : std::filesystem::directory_iterator(path)) {
        if (each.path().native().ends_with(ending)) files.push_back(each.path());
    }
    std::ranges::sort(files);
    EXPECT_FALSE(files.empty()) << path;
    std::vector<std::string> corpus;
    for (auto const& each : files) corpus.push_back(read_file(each).value());
    return corpus;
}

}  // namespace osora::fuzz
