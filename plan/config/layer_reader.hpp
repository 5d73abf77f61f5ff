// Applies one parsed layer to a RunConfig. Private to plan/config: includes toml++.
#pragma once

#include "plan/config/fields.hpp"
#include "plan/config/run_file.hpp"

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

class LayerReader {
public:
    /// `origin` has no line; lines come from the nodes. `into` must outlive the reader. `prefix`:
    /// "", or "stage[0]." before all names in messages.
    LayerReader(ResolvedConfig& into, Origin origin, std::string prefix = {});

    void read(toml::table const& root);
    /// Keys of one [[bucket]] that a lower layer has set.
    void read_bucket(std::size_t index, toml::table const& keys);

private:
    void read_section(std::string const& path, std::string_view section, toml::table const& table,
                      std::vector<Field> const& fields);
    void read_buckets(toml::node const& node);
    void check_stages(toml::node const& node);
    void read_variables(std::string const& path, toml::node const& node, StringMap& into);
    void unknown_section(std::string const& name, toml::key const& key, toml::node const& node);
    void unknown_key(std::string const& path, std::string_view section, toml::key const& key);

    /// Line of the key in this file; 0 for --set.
    [[nodiscard]] Origin at(toml::source_region const& region) const;
    void complain(toml::source_region const& region, std::string message);
    void written(std::string const& path, toml::source_region const& region);

    ResolvedConfig& into_;
    Origin origin_;
    std::string prefix_;
};

}  // namespace osora::plan
