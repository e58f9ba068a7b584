// RFC 4648, the common alphabet.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon::base {

std::string ToBase64(std::string_view bytes);
// With its padding or without; nothing for any other text.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace cordon::base
