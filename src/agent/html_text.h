// The words of an HTML page, plainly: no scripts, no styles, a line for a block. Not a
// browser, and nothing is decided by what it says.
#pragma once

#include <string>
#include <string_view>

namespace cordon::agent {

std::string HtmlToText(std::string_view html);

}  // namespace cordon::agent
