// What Java trusts: it reads certificate authorities from a key store of its own.
#pragma once

#include <string>
#include <string_view>

namespace cordon::session {

// The certificates of a PEM bundle as a JKS key store. It has no digest: Java looks
// for one only where it is given a password.
std::string JavaTrustStore(std::string_view bundle);

}  // namespace cordon::session
