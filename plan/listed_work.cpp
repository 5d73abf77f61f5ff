#include "plan/listed_work.hpp"

#include "plan/buckets/list_rows.hpp"

namespace osora::plan {

Result<ListedWork> listed_work(std::string_view list, ColumnNames const& columns) {
    ListedWork work;
    auto const take = [&work](ListRow const& row) {
        ++work.rows;
        if (!row.fault.empty()) ++work.unusable;
        if (!row.fault.empty() || row.num_frames <= 0 || row.height <= 0 || row.width <= 0) return;
        double const megapixels = static_cast<double>(row.height) * row.width / 1e6;
        ++work.sized;
        work.frames += row.num_frames;
        work.megapixel_frames += megapixels * row.num_frames;
        work.megapixels += megapixels;
    };
    OSORA_TRY_VOID(read_list_rows(list, "/", columns, take));
    return work;
}

}  // namespace osora::plan
