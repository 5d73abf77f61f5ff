// Opcodes: pickletools of Python. Each makes one value at most, and a value is 56 bytes.
#include "worker/model/weights/pickle.hpp"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>

namespace osora::worker {
namespace {

constexpr std::size_t kPickleBytesMax = std::size_t{64} << 20;
constexpr std::size_t kPickleValuesMax = std::size_t{4} << 20;

class PickleMachine {
public:
    explicit PickleMachine(std::string_view bytes) : bytes_(bytes) {}

    Result<Pickle> run() {
        while (!stopped_) {
            opcode_at_ = at_;
            auto const opcode = number(1);
            if (!opcode) return damaged("it is cut off");
            OSORA_TRY_VOID(step(static_cast<unsigned char>(*opcode)));
            if (pickle_.values.size() > kPickleValuesMax || memo_.size() > kPickleValuesMax) {
                return invalid(
                    fmt::format("a pickle of more than {} values, which is none of "
                                "weights",
                                kPickleValuesMax));
            }
        }
        pickle_.bytes = at_;
        return std::move(pickle_);
    }

private:
    Error damaged(std::string_view why) const {
        return {Errc::corrupt, fmt::format("pickle, byte {}: {}", opcode_at_, why)};
    }

    /// An unsigned little-endian number of `size` bytes.
    std::optional<std::uint64_t> number(std::size_t size) {
        if (bytes_.size() - at_ < size) return std::nullopt;
        std::uint64_t value = 0;
        for (std::size_t i = size; i > 0; --i) {
            value = value << 8 | static_cast<unsigned char>(bytes_[at_ + i - 1]);
        }
        at_ += size;
        return value;
    }

    std::optional<std::string_view> piece(std::optional<std::uint64_t> size) {
        if (!size || *size > bytes_.size() - at_) return std::nullopt;
        auto const found = bytes_.substr(at_, static_cast<std::size_t>(*size));
        at_ += found.size();
        return found;
    }

    Result<void> push(PickleValue value) {
        stack_.push_back(static_cast<PickleId>(pickle_.values.size()));
        pickle_.values.push_back(std::move(value));
        return {};
    }
    Result<void> push_number(PickleKind kind, std::optional<std::int64_t> value) {
        if (!value) return damaged("it is cut off");
        return push({kind, *value, {}, {}});
    }
    Result<void> push_text(std::optional<std::string_view> text) {
        if (!text) return damaged("a text is longer than the pickle");
        return push({PickleKind::text, 0, *text, {}});
    }

    std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

    /// The value on top, taken off; nothing when none is above the last mark.
    std::optional<PickleId> pop() {
        if (stack_.size() <= floor()) return std::nullopt;
        PickleId const top = stack_.back();
        stack_.pop_back();
        return top;
    }
    std::optional<std::vector<PickleId>> pop_count(std::size_t count) {
        if (stack_.size() < floor() + count) return std::nullopt;
        auto const begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
        std::vector<PickleId> items(begin, stack_.end());
        stack_.erase(begin, stack_.end());
        return items;
    }
    std::optional<std::vector<PickleId>> pop_mark() {
        if (marks_.empty()) return std::nullopt;
        auto items = pop_count(stack_.size() - marks_.back());
        marks_.pop_back();
        return items;
    }

    Result<void> push_items(PickleKind kind, std::optional<std::vector<PickleId>> items) {
        if (!items) return damaged("the stack holds too little");
        return push({kind, 0, {}, std::move(*items)});
    }

    /// Puts `items` into the list, dict or object that is on top after them.
    Result<void> put(PickleKind kind, std::optional<std::vector<PickleId>> items) {
        if (!items || stack_.size() <= floor()) return damaged("the stack holds too little");
        PickleValue& value = pickle_.values[stack_.back()];
        if (value.kind != kind && value.kind != PickleKind::call) {
            return damaged("it puts something into what holds nothing");
        }
        if (kind == PickleKind::dict && items->size() % 2 != 0)
            return damaged("a key has no value");
        bool const kept = value.kind == kind || kind == PickleKind::dict;
        if (kept) value.items.insert(value.items.end(), items->begin(), items->end());
        return {};
    }

    Result<void> global() {
        std::size_t const line = bytes_.find('\n', at_);
        std::size_t const end = line == std::string_view::npos ? line : bytes_.find('\n', line + 1);
        if (end == std::string_view::npos) return damaged("a name is cut off");
        auto const text = bytes_.substr(at_, end - at_);
        at_ = end + 1;
        return push({PickleKind::global, 0, text, {}});
    }

    /// A global of protocol 4: its module and its name are texts on the stack.
    Result<void> stack_global() {
        auto const name = pop(), module = pop();
        if (!name || !module) return damaged("the stack holds too little");
        auto const text_of = [&](PickleId id) { return pickle_.values[id].text; };
        pickle_.names.push_back(fmt::format("{}\n{}", text_of(*module), text_of(*name)));
        return push({PickleKind::global, 0, pickle_.names.back(), {}});
    }

    Result<void> call() {
        auto const arguments = pop(), function = pop();
        if (!arguments || !function) return damaged("the stack holds too little");
        PickleValue const& called = pickle_.values[*function];
        bool const named = called.kind == PickleKind::global;
        return push({named ? PickleKind::call : PickleKind::other, 0, called.text, {*arguments}});
    }

    Result<void> persistent() {
        auto const id = pop();
        if (!id) return damaged("the stack holds too little");
        return push({PickleKind::persistent, 0, {}, {*id}});
    }

    Result<void> remember(std::optional<std::uint64_t> place) {
        if (!place || stack_.size() <= floor()) return damaged("there is nothing to remember");
        memo_[static_cast<std::uint32_t>(*place)] = stack_.back();
        return {};
    }
    Result<void> recall(std::optional<std::uint64_t> place) {
        auto const found = place ? memo_.find(static_cast<std::uint32_t>(*place)) : memo_.end();
        if (found == memo_.end()) return damaged("it recalls what was never remembered");
        stack_.push_back(found->second);
        return {};
    }

    Result<void> long_integer(std::size_t size_bytes) {
        auto const size = number(size_bytes);
        auto const digits = piece(size);
        if (!digits) return damaged("it is cut off");
        if (digits->size() > 8) return push({PickleKind::other, 0, {}, {}});
        std::uint64_t value = !digits->empty() && digits->back() < 0 ? ~std::uint64_t{0} : 0;
        for (std::size_t i = digits->size(); i > 0; --i) {
            value = value << 8 | static_cast<unsigned char>((*digits)[i - 1]);
        }
        return push_number(PickleKind::integer, static_cast<std::int64_t>(value));
    }

    std::optional<std::int64_t> signed_32() {
        auto const value = number(4);
        if (!value) return std::nullopt;
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(*value));
    }

    Result<void> stop() {
        auto const top = pop();
        if (!top || !stack_.empty() || !marks_.empty()) return damaged("it ends too early");
        pickle_.root = *top;
        stopped_ = true;
        return {};
    }

    Result<void> step(unsigned char opcode) {
        switch (opcode) {
            case 0x80:  // PROTO
                return number(1) ? Result<void>() : damaged("it is cut off");
            case '(':  // MARK
                marks_.push_back(stack_.size());
                return {};
            case 'N':
                return push({PickleKind::none, 0, {}, {}});
            case 0x88:  // NEWTRUE
                return push_number(PickleKind::boolean, 1);
            case 0x89:  // NEWFALSE
                return push_number(PickleKind::boolean, 0);
            case 'J':  // BININT
                return push_number(PickleKind::integer, signed_32());
            case 'K':  // BININT1
                return push_number(PickleKind::integer, number(1));
            case 'M':  // BININT2
                return push_number(PickleKind::integer, number(2));
            case 0x8a:  // LONG1
                return long_integer(1);
            case 0x8b:  // LONG4
                return long_integer(4);
            case 'G':  // BINFLOAT
                return push_number(PickleKind::real, number(8));
            case 'X':  // BINUNICODE, BINSTRING, BINBYTES
            case 'T':
            case 'B':
                return push_text(piece(number(4)));
            case 'U':  // SHORT_BINSTRING, SHORT_BINBYTES, SHORT_BINUNICODE
            case 'C':
            case 0x8c:
                return push_text(piece(number(1)));
            case 0x8d:  // BINUNICODE8, BINBYTES8
            case 0x8e:
                return push_text(piece(number(8)));
            default:
                return step_of_items(opcode);
        }
    }

    Result<void> step_of_items(unsigned char opcode) {
        switch (opcode) {
            case ']':
                return push({PickleKind::list, 0, {}, {}});
            case ')':
                return push({PickleKind::tuple, 0, {}, {}});
            case '}':
                return push({PickleKind::dict, 0, {}, {}});
            case 0x8f:  // EMPTY_SET
                return push({PickleKind::list, 0, {}, {}});
            case 0x91:  // FROZENSET
                return push_items(PickleKind::list, pop_mark());
            case 't':  // TUPLE
                return push_items(PickleKind::tuple, pop_mark());
            case 0x85:  // TUPLE1, TUPLE2, TUPLE3
            case 0x86:
            case 0x87:
                return push_items(PickleKind::tuple, pop_count(opcode - 0x84u));
            case 'a':  // APPEND
                return put(PickleKind::list, pop_count(1));
            case 'e':  // APPENDS, ADDITEMS
            case 0x90:
                return put(PickleKind::list, pop_mark());
            case 's':  // SETITEM
                return put(PickleKind::dict, pop_count(2));
            case 'u':  // SETITEMS
                return put(PickleKind::dict, pop_mark());
            default:
                return step_of_objects(opcode);
        }
    }

    Result<void> step_of_objects(unsigned char opcode) {
        switch (opcode) {
            case 'c':
                return global();
            case 0x93:
                return stack_global();
            case 0x94:  // MEMOIZE
                return remember(memo_.size());
            case 0x95:  // FRAME
                return number(8) ? Result<void>() : damaged("it is cut off");
            case 'R':   // REDUCE
            case 0x81:  // NEWOBJ
                return call();
            case 'Q':  // BINPERSID
                return persistent();
            case 'b':  // BUILD
                return pop_count(1) && stack_.size() > floor()
                           ? Result<void>()
                           : damaged("the stack holds too little");
            case 'q':  // BINPUT
                return remember(number(1));
            case 'r':  // LONG_BINPUT
                return remember(number(4));
            case 'h':  // BINGET
                return recall(number(1));
            case 'j':  // LONG_BINGET
                return recall(number(4));
            case '0':  // POP
                return pop() ? Result<void>() : damaged("the stack holds too little");
            case '.':
                return stop();
            default:
                return invalid(
                    fmt::format("pickle, byte {}: opcode 0x{:02x}, which weights of "
                                "torch.save (pickle_protocol 2 to 5) do not need",
                                opcode_at_, opcode));
        }
    }

    std::string_view bytes_;
    std::size_t at_ = 0, opcode_at_ = 0;
    bool stopped_ = false;
    Pickle pickle_;
    std::vector<PickleId> stack_;
    std::vector<std::size_t> marks_;  // sizes of the stack
    std::unordered_map<std::uint32_t, PickleId> memo_;
};

}  // namespace

Result<Pickle> read_pickle(std::string_view bytes) {
    if (bytes.size() > kPickleBytesMax) {
        return invalid(fmt::format("a pickle of {} bytes; weights need {} at most", bytes.size(),
                                   kPickleBytesMax));
    }
    return PickleMachine(bytes).run();
}

}  // namespace osora::worker
