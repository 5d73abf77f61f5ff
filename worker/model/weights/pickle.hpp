// Parses pickles of protocols 2 to 5 as values, from unverified bytes. Calls and constructs
// nothing: a call stays a value that names its function. Values refer to each other by number, so
// that depth and cycles do not matter for reading or freeing them. Pure: no files, no LibTorch.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

using PickleId = std::uint32_t;  // index into Pickle::values

enum class PickleKind {
    none,
    boolean,     // number
    integer,     // number
    real,        // not kept: weights need none
    text,        // text, also bytes
    list,        // items
    tuple,       // items
    dict,        // items: key, value, key, value...
    global,      // text: module, line feed, name
    call,        // text: its function's; items: the tuple of arguments, then what was put in: key,
                 // value...
    persistent,  // items: a reference to something outside of the pickle
    other        // an integer of more than 64 bits, a call of no global
};

struct PickleValue {
    PickleKind kind = PickleKind::none;
    std::int64_t number = 0;
    std::string_view text;  // lies in the pickle's bytes, or in Pickle::names
    std::vector<PickleId> items;
};

struct Pickle {
    std::vector<PickleValue> values;
    std::deque<std::string> names;  // of globals that the pickle holds in two parts
    PickleId root = 0;
    std::size_t bytes = 0;  // where it ends; more may follow

    [[nodiscard]] PickleValue const& at(PickleId id) const { return values[id]; }
};

/// The pickle at the start of `bytes`, which must outlive the result. corrupt: cut off, or not
/// valid for any stack machine; invalid_input: an opcode that torch.save's pickles do not need, or
/// more values than any file of weights has. The error names the byte.
[[nodiscard]] Result<Pickle> read_pickle(std::string_view bytes);

}  // namespace osora::worker
