// Runs in: supervisor. Pure.
#include "backend/linux/net_ops.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>
#include <span>

namespace cordon::backend {
namespace {

using guard::Family;

// lo is the first interface of every network namespace.
constexpr uint32_t kLoopbackIndex = 1;

class NetlinkMessages {
 public:
  template <typename Body>
  void Begin(uint16_t type, const Body& body) {
    start_ = bytes_.size();
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    header.nlmsg_seq = static_cast<uint32_t>(++count_);
    Append(&header, sizeof(header));
    Append(&body, sizeof(body));
  }
  void Attribute(uint16_t type, std::span<const uint8_t> value) {
    rtattr attribute{static_cast<unsigned short>(RTA_LENGTH(value.size())), type};
    Append(&attribute, sizeof(attribute));
    Append(value.data(), value.size());
  }
  void End() {
    auto size = static_cast<uint32_t>(bytes_.size() - start_);
    memcpy(bytes_.data() + start_ + offsetof(nlmsghdr, nlmsg_len), &size, sizeof(size));
  }
  Step Take() { return {.op = Op::kNetlink, .data = std::move(bytes_), .value = count_}; }

 private:
  void Append(const void* data, size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }

  std::string bytes_;
  size_t start_ = 0;
  uint64_t count_ = 0;
};

std::span<const uint8_t> Bytes(const guard::IpAddress& address) {
  return std::span(address.bytes).first(address.family == Family::kV4 ? 4 : 16);
}

uint8_t DomainOf(Family family) { return family == Family::kV4 ? AF_INET : AF_INET6; }

void AddAddress(NetlinkMessages& messages, std::string_view text) {
  guard::IpAddress address = *guard::ParseIp(text);
  ifaddrmsg body{};
  body.ifa_family = DomainOf(address.family);
  body.ifa_prefixlen = static_cast<uint8_t>(Bytes(address).size() * 8);
  body.ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD;
  body.ifa_index = kLoopbackIndex;
  messages.Begin(RTM_NEWADDR, body);
  messages.Attribute(IFA_LOCAL, Bytes(address));
  messages.Attribute(IFA_ADDRESS, Bytes(address));
  messages.End();
}

// Every address is this machine's.
void AddLocalDefault(NetlinkMessages& messages, Family family) {
  rtmsg body{};
  body.rtm_family = DomainOf(family);
  body.rtm_table = RT_TABLE_LOCAL;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = family == Family::kV4 ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
  body.rtm_type = RTN_LOCAL;
  uint8_t index[4];
  memcpy(index, &kLoopbackIndex, sizeof(index));
  messages.Begin(RTM_NEWROUTE, body);
  messages.Attribute(RTA_OIF, index);
  messages.End();
}

Step ListenStep(const InsideSocket& socket) {
  bool everywhere = socket.use != SocketUse::kProxy && socket.use != SocketUse::kHostPort;
  uint64_t how = 0;
  if (socket.use == SocketUse::kDnsUdp) how |= kListenDatagram;
  if (socket.family == Family::kV6) how |= kListenV6;
  if (everywhere) how |= kListenEverywhere;
  return {.op = Op::kListen, .value = static_cast<uint64_t>(socket.port), .value2 = how};
}

}  // namespace

std::vector<InsideSocket> InsideSockets(const plan::NetPlan& net) {
  std::vector<InsideSocket> sockets;
  // Without namespaces there is one, and it is the host's.
  if (net.host_network) {
    if (net.proxied() && !net.external) {
      sockets.push_back({SocketUse::kProxy, net.proxy_port, Family::kV4});
    }
    return sockets;
  }
  auto add = [&](SocketUse use, int port) {
    sockets.push_back({use, port, Family::kV4});
    if (net.ipv6) sockets.push_back({use, port, Family::kV6});
  };
  for (int port : net.host_ports) add(SocketUse::kHostPort, port);
  if (!net.proxied() || net.external) return sockets;
  add(SocketUse::kProxy, plan::kProxyPort);
  if (!net.routed) return sockets;
  add(SocketUse::kDnsUdp, plan::kDnsPort);
  add(SocketUse::kDnsTcp, plan::kDnsPort);
  for (int port : net.ports) add(SocketUse::kCapture, port);
  return sockets;
}

std::vector<Step> NetOps(const plan::NetPlan& net) {
  std::vector<Step> steps;
  if (!net.own_namespace()) return steps;
  if (net.routed) steps.push_back({.op = Op::kLoopback});
  if (net.captures()) {
    NetlinkMessages messages;
    AddAddress(messages, plan::kInsideV4);
    AddLocalDefault(messages, Family::kV4);
    if (net.ipv6) {
      AddAddress(messages, plan::kInsideV6);
      AddLocalDefault(messages, Family::kV6);
    }
    steps.push_back(messages.Take());
  }
  for (const InsideSocket& socket : InsideSockets(net)) steps.push_back(ListenStep(socket));
  return steps;
}

}  // namespace cordon::backend
