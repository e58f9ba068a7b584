// The JSON of tool calls: objects that keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>

namespace cordon::agent {

using Json = nlohmann::ordered_json;

}  // namespace cordon::agent
