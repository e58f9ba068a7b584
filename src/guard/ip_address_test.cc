#include "guard/ip_address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cordon::guard {
namespace {

IpAddress Ip(std::string_view text) {
  auto address = ParseIp(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress{});
}

std::vector<std::string> Carried(std::string_view text) {
  std::vector<std::string> texts;
  for (const IpAddress& address : EmbeddedIpv4(Ip(text))) texts.push_back(ToString(address));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ParseIp, ReadsTheTwoPlainForms) {
  EXPECT_EQ(ToString(Ip("1.2.3.4")), "1.2.3.4");
  EXPECT_EQ(Ip("1.2.3.4").family, Family::kV4);
  EXPECT_EQ(ToString(Ip("2001:DB8:0:0:1:0:0:1")), "2001:db8::1:0:0:1");
  EXPECT_EQ(ToString(Ip("::FFFF:7f00:1")), "::ffff:127.0.0.1");
  EXPECT_EQ(Ip("::ffff:127.0.0.1"), Ip("0:0:0:0:0:ffff:7f00:0001"));
  EXPECT_NE(Ip("::ffff:127.0.0.1"), Ip("127.0.0.1"));
}

TEST(ParseIp, RefusesEveryOtherSpelling) {
  for (std::string_view text : {"",
                                " ",
                                "1.2.3",
                                "127.1",
                                "1.2.3.4.5",
                                "1.2.3.4.",
                                "01.2.3.4",
                                "0177.0.0.1",
                                "0x7f.0.0.1",
                                "2130706433",
                                "256.1.1.1",
                                "1.2.3.-4",
                                "1.2.3.4 ",
                                " 1.2.3.4",
                                "1.2.3.4/8",
                                "+1.2.3.4",
                                "::1%lo",
                                "fe80::1%1",
                                "[::1]",
                                ":::",
                                "1::2::3",
                                "::g",
                                "12345::",
                                "::1.2.3",
                                "::0x7f00:1",
                                "1:2:3:4:5:6:7:8:9",
                                "1:2:3:4:5:6:7"}) {
    EXPECT_FALSE(ParseIp(text)) << text;
  }
  EXPECT_FALSE(ParseIp(std::string_view("1.2.3.4\0", 8)));
  EXPECT_FALSE(ParseIp(std::string(400, '1')));
}

struct KindCase {
  const char* text;
  AddressKind kind;
};

TEST(KindOf, TellsRangesFromTheirNeighbours) {
  using enum AddressKind;
  const KindCase cases[] = {
      {"0.0.0.0", kUnspecified},
      {"0.255.255.255", kUnspecified},
      {"1.0.0.0", kPublic},
      {"9.255.255.255", kPublic},
      {"10.0.0.0", kPrivate},
      {"10.255.255.255", kPrivate},
      {"11.0.0.0", kPublic},
      {"100.63.255.255", kPublic},
      {"100.64.0.0", kShared},
      {"100.127.255.255", kShared},
      {"100.128.0.0", kPublic},
      {"126.255.255.255", kPublic},
      {"127.0.0.0", kLoopback},
      {"127.255.255.255", kLoopback},
      {"128.0.0.0", kPublic},
      {"169.253.255.255", kPublic},
      {"169.254.0.0", kLinkLocal},
      {"169.254.255.255", kLinkLocal},
      {"169.255.0.0", kPublic},
      {"172.15.255.255", kPublic},
      {"172.16.0.0", kPrivate},
      {"172.31.255.255", kPrivate},
      {"172.32.0.0", kPublic},
      {"191.255.255.255", kPublic},
      {"192.0.0.0", kReserved},
      {"192.0.0.255", kReserved},
      {"192.0.1.255", kPublic},
      {"192.0.2.0", kDocumentation},
      {"192.0.3.0", kPublic},
      {"192.88.98.255", kPublic},
      {"192.88.99.1", kReserved},
      {"192.88.100.0", kPublic},
      {"192.167.255.255", kPublic},
      {"192.168.0.0", kPrivate},
      {"192.169.0.0", kPublic},
      {"198.17.255.255", kPublic},
      {"198.18.0.0", kBenchmarking},
      {"198.19.255.255", kBenchmarking},
      {"198.20.0.0", kPublic},
      {"198.51.100.7", kDocumentation},
      {"198.51.101.0", kPublic},
      {"203.0.113.7", kDocumentation},
      {"203.0.114.0", kPublic},
      {"223.255.255.255", kPublic},
      {"224.0.0.0", kMulticast},
      {"239.255.255.255", kMulticast},
      {"240.0.0.0", kReserved},
      {"255.255.255.254", kReserved},
      {"255.255.255.255", kBroadcast},
      {"::", kUnspecified},
      {"::1", kLoopback},
      {"::2", kReserved},
      {"100::", kReserved},
      {"1fff:ffff::", kReserved},
      {"2000::", kPublic},
      {"2001:1ff::", kReserved},
      {"2001:200::", kPublic},
      {"2001:2::", kBenchmarking},
      {"2001:2:1::", kReserved},
      {"2001:10::", kReserved},
      {"2001:20::", kReserved},
      {"2001:db7::", kPublic},
      {"2001:db8::1", kDocumentation},
      {"2001:db9::", kPublic},
      {"2606:4700:4700::1111", kPublic},
      {"3ffe::", kPublic},
      {"3fff::", kDocumentation},
      {"3fff:fff::", kDocumentation},
      {"3fff:1000::", kPublic},
      {"4000::", kReserved},
      {"5f00::1", kReserved},
      {"fbff::", kReserved},
      {"fc00::", kPrivate},
      {"fdff::1", kPrivate},
      {"fe00::", kReserved},
      {"fe80::1", kLinkLocal},
      {"febf::1", kLinkLocal},
      {"fec0::1", kPrivate},
      {"ff02::1", kMulticast},
  };
  for (const KindCase& c : cases) EXPECT_EQ(KindOf(Ip(c.text)), c.kind) << c.text;
}

TEST(KindOf, KnowsTheCloudsMetadata) {
  for (const char* text :
       {"169.254.169.254", "169.254.169.253", "169.254.169.123", "169.254.170.2", "169.254.170.23",
        "169.254.0.23", "169.254.42.42", "168.63.129.16", "100.100.100.200", "192.0.0.192",
        "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42",
        "fe80::a9fe:a9fe"}) {
    EXPECT_EQ(KindOf(Ip(text)), AddressKind::kMetadata) << text;
  }
  EXPECT_EQ(KindOf(Ip("168.63.129.17")), AddressKind::kPublic);
  EXPECT_EQ(KindOf(Ip("100.100.100.201")), AddressKind::kShared);
  EXPECT_EQ(KindOf(Ip("fd00:ec3::254")), AddressKind::kPrivate);
}

TEST(KindOf, AnAddressInsideAnotherCounts) {
  for (const char* text :
       {"::ffff:169.254.169.254", "::169.254.169.254", "::ffff:0:169.254.169.254",
        "64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254",
        "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:0:a9:fea9:fe00:0",
        "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::", "2001:0:808:808::5601:5601",
        "2606:4700::5efe:169.254.169.254", "2606:4700::200:5efe:a9fe:a9fe"}) {
    EXPECT_EQ(KindOf(Ip(text)), AddressKind::kMetadata) << text;
  }
  EXPECT_EQ(KindOf(Ip("::ffff:127.0.0.1")), AddressKind::kLoopback);
  EXPECT_EQ(KindOf(Ip("64:ff9b::7f00:1")), AddressKind::kLoopback);
  EXPECT_EQ(KindOf(Ip("64:ff9b::")), AddressKind::kUnspecified);
  EXPECT_EQ(KindOf(Ip("::ffff:8.8.8.8")), AddressKind::kPublic);
  EXPECT_EQ(KindOf(Ip("64:ff9b::8.8.8.8")), AddressKind::kPublic);
  EXPECT_EQ(KindOf(Ip("64:ff9b:1::8.8.8.8")), AddressKind::kPrivate);
  EXPECT_EQ(KindOf(Ip("2606:4700::5efe:10.0.0.1")), AddressKind::kPrivate);
  EXPECT_EQ(KindOf(Ip("2002:808:808::")), AddressKind::kReserved);
  EXPECT_EQ(KindOf(Ip("2001:0:808:808::f7f7:f7f7")), AddressKind::kReserved);
  EXPECT_EQ(KindOf(Ip("::8.8.8.8")), AddressKind::kReserved);
}

TEST(EmbeddedIpv4, FindsEachPlace) {
  EXPECT_EQ(Carried("1.2.3.4"), Texts());
  EXPECT_EQ(Carried("2606:4700::1"), Texts());
  EXPECT_EQ(Carried("::"), Texts());
  EXPECT_EQ(Carried("::1"), Texts());
  EXPECT_EQ(Carried("::ffff:1.2.3.4"), Texts({"1.2.3.4"}));
  EXPECT_EQ(Carried("::1.2.3.4"), Texts({"1.2.3.4"}));
  EXPECT_EQ(Carried("64:ff9b::102:304"), Texts({"1.2.3.4"}));
  EXPECT_EQ(Carried("64:ff9b:0:1::102:304"), Texts());
  EXPECT_EQ(Carried("2002:102:304::"), Texts({"1.2.3.4"}));
  EXPECT_EQ(Carried("2001:0:102:304::fafb:f8f7"), Texts({"1.2.3.4", "5.4.7.8"}));
  EXPECT_EQ(Carried("2a00::5efe:1.2.3.4"), Texts({"1.2.3.4"}));
}

TEST(KindName, EachHasOne) {
  EXPECT_EQ(KindName(AddressKind::kPublic), "public");
  EXPECT_EQ(KindName(AddressKind::kMetadata), "cloud metadata");
}

}  // namespace
}  // namespace cordon::guard
