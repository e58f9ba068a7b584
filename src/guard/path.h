// Paths and globs as text: what contains what, what matches what. Nothing here
// asks the file system, so nothing here knows about symlinks; a decision that
// must hold against a hostile tree is made on descriptors elsewhere. Paths are
// bytes, not UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon::guard {

// Removes ".", "..", doubled and trailing slashes, by the text alone. An
// absolute path stays absolute ("/.." is "/"); a relative one stays relative
// and keeps the ".." it cannot resolve; nothing left is ".".
std::string NormalizePath(std::string_view path);

// Whether normalised `path` is `root` or lies below it, by whole components:
// "/good" does not contain "/goodish". "/" contains every absolute path.
bool IsInside(std::string_view path, std::string_view root);

// `b` itself if it is absolute, otherwise `b` below `a`. Not normalised.
std::string JoinPath(std::string_view a, std::string_view b);

// Of a normalised path: "/a/b" → "/a" and "b"; "/" → "/" and "". A name
// without a slash has the parent ".".
std::string_view Parent(std::string_view path);
std::string_view BaseName(std::string_view path);

// Whether `text` has a character that is special in a glob: * ? [
bool HasGlob(std::string_view text);

// Whether the whole of normalised absolute `path` matches absolute `pattern`.
// Within one component `*` is any bytes, `?` one byte, `[a-z]` and `[!a-z]` one
// byte in or not in the set; a `[` without its `]` is itself. The component
// `**` is any number of components, also none: "/a/**" matches "/a". A leading
// dot is an ordinary byte. Time is at most the product of the two lengths.
bool GlobMatch(std::string_view pattern, std::string_view path);

// `text` as a pattern that matches only it: "a[1]" → "a[[]1]".
std::string EscapeGlob(std::string_view text);

// The one text that `pattern` matches, if its only special characters are
// those of EscapeGlob; nothing for a real glob.
std::optional<std::string> UnescapeGlob(std::string_view pattern);

// The longest leading directory of `pattern` without glob characters, as a
// path: "/a/b*/c" → "/a", "/a[[]1]/*" → "/a[1]"; a pattern without any is its
// own base.
std::string GlobBase(std::string_view pattern);

}  // namespace cordon::guard
