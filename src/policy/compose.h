// Two policies → one that is never wider than either.
#pragma once

#include <string_view>

#include "cordon/policy.h"

namespace cordon::policy {

// Denies unite; allows intersect, by path and by host pattern; flags AND;
// enums take the stricter, limits the smaller; `require` unites; env.set comes
// from both and the parent's wins. Where two wishes cannot both be kept (two
// different external proxies, HTTP rules that differ for a host) the result
// allows neither.
//
// In meaning it is idempotent, associative and, but for env.set, net.upstream,
// net.tls.ca, audit.log and workspace.provider (where the parent wins), commutative.
// Lists come out sorted, without duplicates and without rules that another one
// implies, so that Compose(Canonical(p), Canonical(p)) == Canonical(p).
Policy Compose(const Policy& parent, const Policy& child);

// Everything allowed, nothing required: Compose with it on either side gives
// the other, in canonical form. Not meant to be run.
Policy Unrestricted();

// The same meaning with lists sorted, without duplicates and implied rules.
Policy Canonical(Policy policy);

// Whether the deny_read and allow_read_within_deny of `fs` leave `path`
// readable. Of all rules that hold it the deepest decides; at equal depth a
// path beats a glob, and of two alike the deny.
bool LeftReadable(const FsPolicy& fs, std::string_view path);

}  // namespace cordon::policy
