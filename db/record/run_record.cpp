#include "db/record/run_record.hpp"

#include <fmt/format.h>

namespace osora::db {

std::string PlannedBucket::label() const {
    return fmt::format("{}x{}x{}", height, width, num_frames);
}

}  // namespace osora::db
