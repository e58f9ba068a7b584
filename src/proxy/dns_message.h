// DNS queries read strictly, and the few answers that are ever given. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "guard/ip_address.h"

namespace cordon::proxy {

enum class DnsType : uint16_t { kA = 1, kAaaa = 28 };  // any other is a number only

enum class DnsCode : uint16_t {
  kNoError = 0,
  kFormatError = 1,
  kServerFailure = 2,
  kNoSuchName = 3,
  kNotImplemented = 4,
  kRefused = 5,
  kBadVersion = 16,  // of EDNS
};

struct DnsQuery {
  uint16_t id = 0;
  bool recursion_desired = false;
  bool checking_disabled = false;
  // The question as it came, echoed with the case of its letters, for clients
  // that randomise it. Empty when there was none that could be read.
  std::vector<uint8_t> question;
  std::string name;  // "Allowed.Test"; a byte that is not a letter, digit, - or _ is "\ddd"
  DnsType type{};
  bool edns = false;
  bool dnssec_ok = false;
  uint16_t udp_size = 512;  // the longest answer that the client takes over UDP
  bool operator==(const DnsQuery&) const = default;
};

struct DnsReading {
  enum class State {
    kQuery,
    kFault,   // to be answered with `fault`
    kIgnore,  // not to be answered: not even a header, or itself an answer
  };
  State state = State::kIgnore;
  DnsQuery query;  // of a fault what could be read
  DnsCode fault = DnsCode::kFormatError;
};

// One question of class IN, opcode QUERY, no compression, nothing else but an
// OPT record of EDNS 0.
DnsReading ReadDnsQuery(std::span<const uint8_t> message);

struct DnsAnswer {
  DnsCode code = DnsCode::kServerFailure;
  std::vector<guard::IpAddress> addresses;  // those of the family asked for are given
  uint32_t ttl = 0;                         // seconds
  bool operator==(const DnsAnswer&) const = default;
};

// Without an address to give, "no such name" and "no error" carry an SOA record,
// so that a cache inside keeps them a few seconds. Over `limit` bytes the answer
// is empty and marked as truncated.
std::vector<uint8_t> BuildDnsAnswer(const DnsQuery& query, const DnsAnswer& answer, size_t limit);

}  // namespace cordon::proxy
