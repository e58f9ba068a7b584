// What a text looks like: random, a placeholder, a name.
#pragma once

#include <string_view>

namespace cordon::guard {

// Shannon's, in bits per byte.
double Entropy(std::string_view text);

// Documentation's stand-ins: "EXAMPLE", "xxxx", "<token>", "${TOKEN}", one byte repeated.
bool LooksLikePlaceholder(std::string_view text);

// Whether a value that something called password, token or key is given can be a secret:
// it is no path, no name of a program's, no word, no version, no date. `most_words` is the
// share of its letters that may look like those of words.
bool LooksRandom(std::string_view text, double most_words);

// Names that hold a keyword such as "key" or "token" but no secret: "primary_key",
// "token_type", "keyboard".
bool IsHarmlessName(std::string_view name);

}  // namespace cordon::guard
