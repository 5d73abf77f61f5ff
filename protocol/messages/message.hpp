// One of several message structs, as a JSON object with a "type" taken from T::kType.
#pragma once

#include "protocol/json.hpp"

#include <string>
#include <variant>

namespace osora::protocol {

template <class Variant>
[[nodiscard]] json::object message_to_json(Variant const& message) {
    return std::visit(
        []<class T>(T const& each) {
            json::object object{{"type", T::kType}};
            for (auto&& member : object_to_json(each)) object.insert(std::move(member));
            return object;
        },
        message);
}

template <class Variant>
[[nodiscard]] std::string encode_message(Variant const& message) {
    return json::serialize(message_to_json(message));
}

/// The message of `Variant` with the "type" of `value`; not_found for an unknown type,
/// invalid_input for anything else that is no such message.
template <class Variant>
[[nodiscard]] Result<Variant> message_from_json(json::value const& value) {
    auto const* object = value.if_object();
    auto const* type = object != nullptr ? object->if_contains("type") : nullptr;
    if (type == nullptr || !type->is_string()) {
        return Error{Errc::invalid_input, "message without a \"type\""};
    }
    Result<Variant> result =
        Error{Errc::not_found, "unknown message '" + std::string(type->get_string()) + "'"};
    bool found = false;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, Variant>>(
        [&]<class T>(std::type_identity<T>) {
            if (found || std::string_view(type->get_string()) != T::kType) return;
            found = true;
            auto read = from_json<T>(value);
            if (read.has_error()) {
                result = std::move(read).error().in(T::kType);
            } else {
                result = Variant(std::move(*read));
            }
        });
    return result;
}

/// Like message_from_json, from one JSON document.
template <class Variant>
[[nodiscard]] Result<Variant> decode_message(std::string_view text) {
    OSORA_TRY(auto value, parse_json(text));
    return message_from_json<Variant>(value);
}

}  // namespace osora::protocol
