// Members of RunConfig by section and key: one walk over Boost.Describe, so that reading, printing
// and checking need not name members.
#pragma once

#include "plan/config/run_config.hpp"
#include "plan/config/schema.hpp"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace osora::plan {

using ArgumentLists = std::vector<std::vector<std::string>>;
using StringMap = std::map<std::string, std::string>;
using NumberMap = std::map<std::string, double>;

/// Points into its RunConfig, which must outlive it.
using FieldRef = std::variant<bool*, int*, std::int64_t*, double*, std::string*,
                              std::vector<std::string>*, ArgumentLists*, StringMap*, NumberMap*,
                              AutoOr<bool>*, AutoOr<int>*, AutoOr<double>*, AutoOr<std::string>*>;

struct Field {
    SchemaRow const* row = nullptr;
    FieldRef value;
};

/// All keys except those of [[bucket]] and [nccl], in the order of the schema.
[[nodiscard]] std::vector<Field> fields_of(RunConfig& config);
[[nodiscard]] std::vector<Field> fields_of(BucketSection& bucket);

/// As TOML: `4`, `"auto"`, `["a", "b"]`, `{ A = "b" }`.
[[nodiscard]] std::string toml_value(FieldRef const& value, SchemaRow const& row);
[[nodiscard]] std::string toml_string(std::string_view text);
/// A bare key when TOML allows it, else quoted.
[[nodiscard]] std::string toml_key(std::string_view key);

/// Whether both point at equal values; they must be of the same kind.
[[nodiscard]] bool same_value(FieldRef const& a, FieldRef const& b);

}  // namespace osora::plan
