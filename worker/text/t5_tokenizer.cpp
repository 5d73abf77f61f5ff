#include "worker/text/t5_tokenizer.hpp"

#include "base/check.hpp"
#include "base/files/files.hpp"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <charconv>
#include <optional>
#include <string>

namespace osora::worker {
namespace {

constexpr std::int64_t kModelBytesMax = 64 << 20;
constexpr std::string_view kExtra = "<extra_id_";

/// A token that is written out in a text.
struct Special {
    std::int64_t id = 0;
    std::size_t bytes = 0;
};

/// The special token that `text` starts with.
std::optional<Special> special_at(std::string_view text, std::int64_t vocab_size) {
    using Named = std::pair<std::string_view, std::int64_t>;
    for (auto const& [name, id] :
         {Named{"<pad>", kT5Pad}, Named{"</s>", kT5Eos}, Named{"<unk>", kT5Unknown}}) {
        if (text.starts_with(name)) return Special{id, name.size()};
    }
    if (!text.starts_with(kExtra)) return std::nullopt;
    std::string_view const digits = text.substr(kExtra.size());
    int number = -1;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || number < 0 || number >= kT5ExtraIds) return std::nullopt;
    std::string const name = fmt::format("{}{}>", kExtra, number);  // so no leading zero
    if (!text.starts_with(name)) return std::nullopt;
    return Special{vocab_size - 1 - number, name.size()};
}

/// U+0085 (next line) is white space to Hugging Face, but not to SentencePiece's normalisation.
std::string with_plain_spaces(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i, 2) == "\xC2\x85") {
            out += ' ';
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace

class T5Tokenizer::Model {
public:
    sentencepiece::SentencePieceProcessor processor;
};

T5Tokenizer::T5Tokenizer(std::unique_ptr<Model> model) : model_(std::move(model)) {}
T5Tokenizer::T5Tokenizer(T5Tokenizer&&) noexcept = default;
T5Tokenizer& T5Tokenizer::operator=(T5Tokenizer&&) noexcept = default;
T5Tokenizer::~T5Tokenizer() = default;

Result<T5Tokenizer> T5Tokenizer::open(std::filesystem::path const& path) {
    OSORA_TRY(auto const bytes, read_file(path, kModelBytesMax));
    auto model = std::make_unique<Model>();
    auto const status = model->processor.LoadFromSerializedProto(bytes);
    if (!status.ok()) {
        return Error{Errc::invalid_input, fmt::format("{}: no SentencePiece model: {}",
                                                      path.string(), status.ToString())};
    }
    auto const& processor = model->processor;
    if (processor.pad_id() != kT5Pad || processor.eos_id() != kT5Eos ||
        processor.unk_id() != kT5Unknown) {
        return Error{
            Errc::invalid_input,
            fmt::format("{}: not a T5 model: pad, eos, unknown are {}, {}, {}; T5's are "
                        "0, 1, 2",
                        path.string(), processor.pad_id(), processor.eos_id(), processor.unk_id())};
    }
    return T5Tokenizer(std::move(model));
}

std::int64_t T5Tokenizer::vocab_size() const {
    return model_->processor.GetPieceSize() + kT5ExtraIds;
}

std::vector<std::int64_t> T5Tokenizer::encode(std::string_view text) const {
    std::vector<std::int64_t> ids;
    auto const add = [&](std::string_view part) {
        std::vector<int> pieces;
        std::string const plain = with_plain_spaces(part);
        auto const status = model_->processor.Encode(plain, &pieces);
        OSORA_CHECK(status.ok(), "a loaded model encodes any bytes");
        ids.insert(ids.end(), pieces.begin(), pieces.end());
    };
    std::size_t start = 0;
    for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at)) {
        auto const special = special_at(text.substr(at), vocab_size());
        if (!special) {
            ++at;
            continue;
        }
        add(text.substr(start, at - start));
        ids.push_back(special->id);
        start = at += special->bytes;
    }
    add(text.substr(start));
    ids.push_back(kT5Eos);
    return ids;
}

PaddedTokens T5Tokenizer::encode_padded(std::string_view text, std::size_t max_length) const {
    OSORA_CHECK_LE(std::size_t{1}, max_length);
    PaddedTokens tokens{.ids = encode(text), .mask = {}};
    if (tokens.ids.size() > max_length) {
        tokens.cut = true;
        tokens.ids.resize(max_length);
        tokens.ids.back() = kT5Eos;
    }
    tokens.mask.assign(tokens.ids.size(), 1);
    tokens.ids.resize(max_length, kT5Pad);
    tokens.mask.resize(max_length, 0);
    return tokens;
}

}  // namespace osora::worker
