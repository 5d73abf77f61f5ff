// The origin of a setting: the layers of a configuration and the place in the file.
#pragma once

#include <boost/describe.hpp>

#include <map>
#include <string>

namespace osora::plan {

/// Later layers win: defaults < site file < user file < run file < --set.
enum class Layer { default_value, site, user, run, command_line };
BOOST_DESCRIBE_ENUM(Layer, default_value, site, user, run, command_line)

struct Origin {
    Layer layer = Layer::default_value;
    std::string file;  // empty for defaults and the command line
    int line = 0;      // 1-based; 0 when there is none
};
BOOST_DESCRIBE_STRUCT(Origin, (), (layer, file, line))

/// "parallel.tp_size" -> where its value was written last; keys with their default value are
/// absent.
using Origins = std::map<std::string, Origin>;

}  // namespace osora::plan
