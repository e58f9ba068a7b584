// Whatever is asked, the answer echoes id and question, fits the client's size,
// and is itself never taken for a query.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "proxy/dns_message.h"

namespace {

using cordon::proxy::BuildDnsAnswer;
using cordon::proxy::DnsCode;
using cordon::proxy::DnsQuery;
using cordon::proxy::DnsReading;
using cordon::proxy::ReadDnsQuery;

void Check(const DnsQuery& query, DnsCode code, size_t addresses) {
  const std::vector<uint8_t> answer = BuildDnsAnswer(
      query,
      {.code = code, .addresses = std::vector<cordon::guard::IpAddress>(addresses), .ttl = 1},
      query.udp_size);
  if (answer.size() > query.udp_size || answer.size() < 12 + query.question.size()) abort();
  if ((answer[0] << 8 | answer[1]) != query.id) abort();
  if (!std::equal(query.question.begin(), query.question.end(), answer.begin() + 12)) abort();
  if (ReadDnsQuery(answer).state != DnsReading::State::kIgnore) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const DnsReading reading = ReadDnsQuery({data, size});
  if (reading.state == DnsReading::State::kIgnore) return 0;
  if (reading.state == DnsReading::State::kQuery && reading.query.question.size() < 5) abort();
  // A name of 255 bytes holds 250 that may be written with four each.
  if (reading.query.name.size() > 4 * 255) abort();
  for (DnsCode code : {reading.fault, DnsCode::kNoError, DnsCode::kNoSuchName}) {
    Check(reading.query, code, 0);
    Check(reading.query, code, 100);
  }
  return 0;
}
