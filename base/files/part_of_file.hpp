// "FILE#PART": a file and the part of it that is meant. Looks at the disk: an existing file with
// '#' in its name is taken whole.
#pragma once

#include <filesystem>
#include <string>

namespace osora {

struct PartOfFile {
    std::filesystem::path file;
    std::string part;  // "": all
};
[[nodiscard]] PartOfFile part_of_file(std::filesystem::path const& path);

}  // namespace osora
