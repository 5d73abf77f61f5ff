// Reads tests/data/nccl.
#pragma once

#include "base/files/files.hpp"
#include "topology/csv_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace osora::topology {

inline std::string nccl_data(std::string const& file) {
    auto text = read_file(std::string(OSORA_SOURCE_DIR) + "/tests/data/nccl/" + file);
    EXPECT_TRUE(text.has_value()) << file;
    return text ? *text : "";
}

/// Steps to the next row; false at the end.
inline bool next_row(CsvTable& table) {
    auto const more = table.next();
    EXPECT_TRUE(more.has_value()) << (more.has_error() ? more.error().message : "");
    return more.has_value() && *more;
}

inline double number_in(CsvTable const& table, std::string const& column) {
    return table.number(column, 0, 1e15).value();
}

}  // namespace osora::topology
