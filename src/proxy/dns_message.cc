#include "proxy/dns_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cordon::proxy {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr size_t kHeader = 12;
constexpr size_t kMaxName = 255;  // with its length bytes
constexpr size_t kMaxLabel = 63;
constexpr uint16_t kInternet = 1;
constexpr uint16_t kSoa = 6;
constexpr uint16_t kOpt = 41;
constexpr uint16_t kMinUdpSize = 512;
constexpr uint16_t kOurUdpSize = 1232;  // fits every path's MTU
constexpr uint16_t kDnssecOk = 0x8000;
// Short, since a policy that is loaded anew may allow what it denied.
constexpr uint32_t kNegativeSeconds = 5;

constexpr uint16_t kIsAnswer = 0x8000;
constexpr uint16_t kOpcodeMask = 0x7800;
constexpr uint16_t kTruncated = 0x0200;
constexpr uint16_t kRecursionDesired = 0x0100;
constexpr uint16_t kRecursionAvailable = 0x0080;
constexpr uint16_t kCheckingDisabled = 0x0010;

uint16_t Word(Bytes bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

bool IsPlain(uint8_t byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

void AppendLabel(Bytes label, std::string& name) {
  if (!name.empty()) name += '.';
  for (uint8_t byte : label) {
    if (IsPlain(byte)) {
      name += static_cast<char>(byte);
    } else {
      name += fmt::format("\\{:03}", byte);
    }
  }
}

// Where the name at `at` ends; nothing if it is compressed or does not end.
std::optional<size_t> ReadName(Bytes message, size_t at, std::string& name) {
  const size_t start = at;
  while (at < message.size()) {
    const size_t length = message[at++];
    if (length == 0) return at;
    if (length > kMaxLabel || at + length + 1 - start > kMaxName) return std::nullopt;
    if (at + length > message.size()) return std::nullopt;
    AppendLabel(message.subspan(at, length), name);
    at += length;
  }
  return std::nullopt;
}

// Whether the options are a list of (code, length, value) to the end.
bool AreOptions(Bytes options) {
  while (!options.empty()) {
    if (options.size() < 4) return false;
    const size_t length = 4 + size_t{Word(options, 2)};
    if (length > options.size()) return false;
    options = options.subspan(length);
  }
  return true;
}

// The OPT record, which must be all that is left.
std::optional<DnsCode> ReadOpt(Bytes record, DnsQuery& query) {
  constexpr size_t kFixed = 11;
  if (record.size() < kFixed || record[0] != 0 || Word(record, 1) != kOpt) {
    return DnsCode::kFormatError;
  }
  if (Word(record, 9) != record.size() - kFixed || !AreOptions(record.subspan(kFixed))) {
    return DnsCode::kFormatError;
  }
  query.edns = true;
  query.udp_size = std::max(kMinUdpSize, Word(record, 3));
  query.dnssec_ok = Word(record, 7) & kDnssecOk;
  const uint8_t version = record[6];
  return version == 0 ? std::nullopt : std::optional(DnsCode::kBadVersion);
}

std::optional<DnsCode> ReadBody(Bytes message, DnsQuery& query) {
  const uint16_t additional = Word(message, 10);
  if (Word(message, 4) != 1 || Word(message, 6) != 0 || Word(message, 8) != 0 || additional > 1) {
    return DnsCode::kFormatError;
  }
  std::string name;
  std::optional<size_t> end = ReadName(message, kHeader, name);
  if (!end || *end + 4 > message.size()) return DnsCode::kFormatError;
  const Bytes rest = message.subspan(*end + 4);
  std::optional<DnsCode> fault;
  if (additional == 1) {
    fault = ReadOpt(rest, query);
  } else if (!rest.empty()) {
    fault = DnsCode::kFormatError;
  }
  if (fault == DnsCode::kFormatError) return fault;
  query.question.assign(message.begin() + kHeader, message.begin() + *end + 4);
  query.name = std::move(name);
  query.type = DnsType{Word(message, *end)};
  if (!fault && Word(message, *end + 2) != kInternet) fault = DnsCode::kRefused;
  return fault;
}

class Writer {
 public:
  void Put16(uint32_t value) {
    out_.push_back(static_cast<uint8_t>(value >> 8));
    out_.push_back(static_cast<uint8_t>(value));
  }
  void Put32(uint32_t value) {
    Put16(value >> 16);
    Put16(value);
  }
  void Put(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  size_t size() const { return out_.size(); }
  std::vector<uint8_t> Finish() && { return std::move(out_); }

 private:
  std::vector<uint8_t> out_;
};

void PutPointer(Writer& out, size_t offset) { out.Put16(0xc000 | static_cast<uint32_t>(offset)); }

void PutAddress(Writer& out, const guard::IpAddress& address, uint32_t ttl) {
  const bool v4 = address.family == guard::Family::kV4;
  const size_t length = v4 ? 4 : 16;
  PutPointer(out, kHeader);
  out.Put16(static_cast<uint16_t>(v4 ? DnsType::kA : DnsType::kAaaa));
  out.Put16(kInternet);
  out.Put32(ttl);
  out.Put16(length);
  out.Put(Bytes(address.bytes).first(length));
}

// An SOA of the zone that the name would be in: its parent.
void PutSoa(Writer& out, Bytes question) {
  const size_t label = question[0];
  PutPointer(out, kHeader + (label ? label + 1 : 0));
  out.Put16(kSoa);
  out.Put16(kInternet);
  out.Put32(kNegativeSeconds);
  out.Put16(22);
  out.Put16(0);  // both names are the root
  out.Put32(1);  // serial
  out.Put32(kNegativeSeconds);
  out.Put32(kNegativeSeconds);
  out.Put32(kNegativeSeconds);
  out.Put32(kNegativeSeconds);  // what negative answers are kept for
}

void PutOpt(Writer& out, const DnsQuery& query, DnsCode code) {
  out.Put(Bytes{{0}});
  out.Put16(kOpt);
  out.Put16(kOurUdpSize);
  out.Put16(static_cast<uint32_t>(code) >> 4 << 8);  // the upper bits of the code, version 0
  out.Put16(query.dnssec_ok ? kDnssecOk : 0);
  out.Put16(0);
}

struct Sections {
  std::vector<guard::IpAddress> addresses;
  bool soa = false;
  bool truncated = false;
};

Sections SectionsOf(const DnsQuery& query, const DnsAnswer& answer) {
  Sections sections;
  if (answer.code == DnsCode::kNoError) {
    for (const guard::IpAddress& address : answer.addresses) {
      const bool v4 = address.family == guard::Family::kV4;
      if (query.type == (v4 ? DnsType::kA : DnsType::kAaaa)) sections.addresses.push_back(address);
    }
  }
  const bool negative = answer.code == DnsCode::kNoSuchName ||
                        (answer.code == DnsCode::kNoError && sections.addresses.empty());
  sections.soa = negative && !query.question.empty();
  return sections;
}

std::vector<uint8_t> Write(const DnsQuery& query, const DnsAnswer& answer,
                           const Sections& sections) {
  uint32_t flags = kIsAnswer | kRecursionAvailable | (static_cast<uint32_t>(answer.code) & 0xf);
  if (query.recursion_desired) flags |= kRecursionDesired;
  if (query.checking_disabled) flags |= kCheckingDisabled;
  if (sections.truncated) flags |= kTruncated;
  Writer out;
  out.Put16(query.id);
  out.Put16(flags);
  out.Put16(query.question.empty() ? 0 : 1);
  out.Put16(static_cast<uint32_t>(sections.addresses.size()));
  out.Put16(sections.soa ? 1 : 0);
  out.Put16(query.edns ? 1 : 0);
  out.Put(query.question);
  for (const guard::IpAddress& address : sections.addresses) PutAddress(out, address, answer.ttl);
  if (sections.soa) PutSoa(out, query.question);
  if (query.edns) PutOpt(out, query, answer.code);
  return std::move(out).Finish();
}

}  // namespace

DnsReading ReadDnsQuery(Bytes message) {
  DnsReading reading;
  if (message.size() < kHeader) return reading;
  const uint16_t flags = Word(message, 2);
  if (flags & kIsAnswer) return reading;
  reading.query.id = Word(message, 0);
  reading.query.recursion_desired = flags & kRecursionDesired;
  reading.query.checking_disabled = flags & kCheckingDisabled;
  std::optional<DnsCode> fault = flags & kOpcodeMask ? std::optional(DnsCode::kNotImplemented)
                                                     : ReadBody(message, reading.query);
  reading.state = fault ? DnsReading::State::kFault : DnsReading::State::kQuery;
  if (fault) reading.fault = *fault;
  return reading;
}

std::vector<uint8_t> BuildDnsAnswer(const DnsQuery& query, const DnsAnswer& answer, size_t limit) {
  std::vector<uint8_t> message = Write(query, answer, SectionsOf(query, answer));
  return message.size() <= limit ? message : Write(query, answer, {.truncated = true});
}

}  // namespace cordon::proxy
