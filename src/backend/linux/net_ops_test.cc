#include "backend/linux/net_ops.h"

#include <gmock/gmock.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

namespace cordon::backend {
namespace {

using guard::Family;
using testing::ElementsAre;
using testing::IsEmpty;

// "listen 443 everywhere v6": a step as a line.
std::vector<std::string> Lines(const plan::NetPlan& net) {
  std::vector<std::string> lines;
  for (const Step& step : NetOps(net)) {
    std::string line = step.op == Op::kLoopback  ? "loopback"
                       : step.op == Op::kNetlink ? "netlink " + std::to_string(step.value)
                       : step.op == Op::kListen  ? "listen " + std::to_string(step.value)
                                                 : "?";
    if (step.value2 & kListenEverywhere) line += " everywhere";
    if (step.value2 & kListenDatagram) line += " udp";
    if (step.value2 & kListenV6) line += " v6";
    lines.push_back(std::move(line));
  }
  return lines;
}

plan::NetPlan Proxied() {
  plan::NetPlan net;
  net.mode = NetMode::kProxy;
  net.ports = {80, 443};
  net.host_ports = {5432};
  return net;
}

TEST(NetOps, NothingOnTheHostsNetwork) {
  plan::NetPlan net = Proxied();
  net.mode = NetMode::kOpen;
  EXPECT_THAT(Lines(net), IsEmpty());
}

TEST(NetOps, NoNetworkIsALoopbackAndChosenPorts) {
  plan::NetPlan net;
  EXPECT_THAT(Lines(net), ElementsAre("loopback"));
  net.host_ports = {5432};
  net.ports = {80};
  EXPECT_THAT(Lines(net), ElementsAre("loopback", "listen 5432"));
}

TEST(NetOps, TheWholeOfAProxiedOne) {
  plan::NetPlan net = Proxied();
  EXPECT_THAT(Lines(net), ElementsAre("loopback", "netlink 2", "listen 5432", "listen 3128",
                                      "listen 53 everywhere udp", "listen 53 everywhere",
                                      "listen 80 everywhere", "listen 443 everywhere"));
  net.ipv6 = true;
  EXPECT_THAT(
      Lines(net),
      ElementsAre("loopback", "netlink 4", "listen 5432", "listen 5432 v6", "listen 3128",
                  "listen 3128 v6", "listen 53 everywhere udp", "listen 53 everywhere udp v6",
                  "listen 53 everywhere", "listen 53 everywhere v6", "listen 80 everywhere",
                  "listen 80 everywhere v6", "listen 443 everywhere", "listen 443 everywhere v6"));
}

TEST(NetOps, AnExternalProxyIsAHostPortAndNoMore) {
  plan::NetPlan net;
  net.mode = NetMode::kProxy;
  net.external = ExternalProxy{.http = 8080};
  net.host_ports = {8080};
  EXPECT_THAT(Lines(net), ElementsAre("loopback", "listen 8080"));
}

TEST(InsideSockets, AreInTheOrderOfTheSteps) {
  plan::NetPlan net = Proxied();
  net.ipv6 = true;
  std::vector<InsideSocket> sockets = InsideSockets(net);
  std::vector<Step> steps = NetOps(net);
  std::erase_if(steps, [](const Step& step) { return step.op != Op::kListen; });
  ASSERT_EQ(sockets.size(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(static_cast<uint64_t>(sockets[i].port), steps[i].value);
    EXPECT_EQ(sockets[i].family == Family::kV6, (steps[i].value2 & kListenV6) != 0);
    EXPECT_EQ(sockets[i].use == SocketUse::kDnsUdp, (steps[i].value2 & kListenDatagram) != 0);
  }
}

// The kernel believes the lengths.
TEST(NetOps, NetlinkMessagesAreWhole) {
  plan::NetPlan net = Proxied();
  net.ipv6 = true;
  const Step step = NetOps(net)[1];
  ASSERT_EQ(step.op, Op::kNetlink);
  std::vector<std::string> messages;
  size_t at = 0;
  for (uint64_t n = 1; n <= step.value; ++n) {
    nlmsghdr header;
    ASSERT_LE(at + sizeof(header), step.data.size());
    memcpy(&header, step.data.data() + at, sizeof(header));
    ASSERT_LE(at + header.nlmsg_len, step.data.size());
    EXPECT_EQ(header.nlmsg_seq, n);
    EXPECT_TRUE(header.nlmsg_flags & NLM_F_ACK);
    std::string family = step.data[at + sizeof(header)] == AF_INET ? "v4" : "v6";
    messages.push_back((header.nlmsg_type == RTM_NEWADDR ? "address " : "route ") + family);
    at += NLMSG_ALIGN(header.nlmsg_len);
  }
  EXPECT_EQ(at, step.data.size());
  EXPECT_THAT(messages, ElementsAre("address v4", "route v4", "address v6", "route v6"));
}

}  // namespace
}  // namespace cordon::backend
