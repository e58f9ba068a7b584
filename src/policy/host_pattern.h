// Host patterns of net.allow as sets of names and ports. Only what composing
// needs; the network guard decides about real connections.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon::policy {

// The pattern that matches what both match, if there is any: "*.x.com" and "a.x.com:443" give
// "a.x.com:443". No port means 80 and 443. A "@list" meets only itself: what
// is in it is not known here. Names compare without case.
std::optional<std::string> IntersectHosts(std::string_view a, std::string_view b);

// Whether some name matches both, whatever the port.
bool HostsOverlap(std::string_view a, std::string_view b);

}  // namespace cordon::policy
