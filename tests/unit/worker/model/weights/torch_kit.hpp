// Archives of torch.save written by hand, true or lying: pickles opcode by opcode, and LibTorch's
// own writer of the zip around them.
#pragma once

#include <caffe2/serialize/inline_container.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker::test {

/// A pickle of protocol 2 that grows at its end.
class PickleWriter {
public:
    PickleWriter& put(std::string_view opcodes) {
        bytes_ += opcodes;
        return *this;
    }
    PickleWriter& text(std::string_view text) {
        put("X").little(text.size(), 4);
        return put(text);
    }
    PickleWriter& number(std::int64_t value) {
        return put("\x8a\x08").little(static_cast<std::uint64_t>(value), 8);
    }
    PickleWriter& global(std::string_view module, std::string_view name) {
        return put("c").put(module).put("\n").put(name).put("\n");
    }
    PickleWriter& numbers(std::vector<std::int64_t> const& values) {
        put("(");
        for (std::int64_t const value : values) number(value);
        return put("t");
    }
    [[nodiscard]] std::string const& bytes() const { return bytes_; }

private:
    PickleWriter& little(std::uint64_t value, int size) {
        for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
        return *this;
    }
    std::string bytes_;
};

/// What a file claims of a tensor.
struct Claim {
    std::string name = "w";
    std::string storage = "FloatStorage";
    std::string key = "0";
    std::int64_t numel = 4, offset = 0;
    std::vector<std::int64_t> sizes{4}, strides{1};
    std::string function = "_rebuild_tensor_v2";
};

inline void put_claim(PickleWriter& pickle, Claim const& claim) {
    pickle.text(claim.name).global("torch._utils", claim.function).put("(");
    pickle.put("(").text("storage").global("torch", claim.storage).text(claim.key).text("cpu");
    pickle.number(claim.numel).put("tQ").number(claim.offset);
    pickle.numbers(claim.sizes).numbers(claim.strides).put("\x89");
    pickle.global("collections", "OrderedDict").put(")RtR");
}

/// A dict of `claims`.
inline std::string pickle_of(std::vector<Claim> const& claims) {
    PickleWriter pickle;
    pickle.put("\x80\x02}(");
    for (Claim const& each : claims) put_claim(pickle, each);
    return pickle.put("u.").bytes();
}

/// An archive with this pickle and these records ("0" becomes data/0).
inline std::string archive_of(std::string const& pickle,
                              std::map<std::string, std::string> const& records) {
    std::string bytes;
    caffe2::serialize::PyTorchStreamWriter writer([&](void const* data, std::size_t size) {
        bytes.append(static_cast<char const*>(data), size);
        return size;
    });
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    for (auto const& [key, content] : records) {
        writer.writeRecord("data/" + key, content.data(), content.size());
    }
    writer.writeEndOfFile();
    return bytes;
}

}  // namespace osora::worker::test
