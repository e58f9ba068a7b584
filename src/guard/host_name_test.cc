#include "guard/host_name.h"

#include <gtest/gtest.h>

#include <string>

namespace cordon::guard {
namespace {

std::string Name(std::string_view text) {
  auto host = ParseHost(text);
  EXPECT_TRUE(host) << text << ": " << (host ? "" : host.error().message);
  return host ? host->name : "";
}

TEST(ParseHost, NormalisesNames) {
  EXPECT_EQ(Name("example.com"), "example.com");
  EXPECT_EQ(Name("EXAMPLE.Com."), "example.com");
  EXPECT_EQ(Name("b\u00fccher.example"), "xn--bcher-kva.example");
  EXPECT_EQ(Name("B\u00dcCHER.example"), "xn--bcher-kva.example");
  EXPECT_EQ(Name("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(Name("XN--BCHER-KVA.example"), "xn--bcher-kva.example");
  EXPECT_EQ(Name("fa\u00df.de"), "xn--fa-hia.de");       // non-transitional
  EXPECT_EQ(Name("a\u3002example"), "a.example");        // an ideographic full stop
  EXPECT_EQ(Name("\uff21llowed.test"), "allowed.test");  // fullwidth
  EXPECT_EQ(Name("r3---sn-x.test"), "r3---sn-x.test");
  EXPECT_EQ(Name("_dmarc.my_host.test"), "_dmarc.my_host.test");
  EXPECT_EQ(Name("1.2.3.4.test"), "1.2.3.4.test");
  EXPECT_EQ(Name("0x7f.test"), "0x7f.test");
  EXPECT_EQ(Name("localhost"), "localhost");
  EXPECT_EQ(Name(std::string(63, 'a') + ".test"), std::string(63, 'a') + ".test");
}

TEST(ParseHost, ReadsAddresses) {
  EXPECT_EQ(Name("1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(Name("[2606:4700::1]"), "2606:4700::1");
  EXPECT_EQ(Name("2606:4700:0::1"), "2606:4700::1");
  EXPECT_EQ(ParseHost("[::1]")->address, ParseIp("::1"));
  EXPECT_FALSE(ParseHost("example.com")->address);
}

TEST(ParseHost, RefusesWhatCouldBeReadAsAnother) {
  for (std::string_view text : {"",
                                ".",
                                "..",
                                ".a.test",
                                "a..test",
                                "a.test..",
                                "a b.test",
                                " a.test",
                                "a.test ",
                                "a.test\t",
                                "a.test\r\n",
                                "evil.test/.wild.test",
                                "evil.test\\.wild.test",
                                "evil.test?.wild.test",
                                "evil.test#.wild.test",
                                "user@evil.test",
                                "%65vil.test",
                                "a%00.test",
                                "*.wild.test",
                                "http://a.test",
                                "a:b",
                                "a.test:443",
                                "-a.test",
                                "a-.test",
                                "a,b.test",
                                "a;b",
                                "a$b.test",
                                "(a).test",
                                "127.1",
                                "127.0.1",
                                "2130706433",
                                "0x7f000001",
                                "0x7f.0.0.1",
                                "0x7f.1",
                                "0X7F.1",
                                "0177.0.0.1",
                                "017700000001",
                                "127.0.0.1.",
                                "0",
                                "0x0",
                                "0x",
                                "00000000",
                                "1.2.3.4.5",
                                "256.1.1.1",
                                "1.1.1.999",
                                "a.1",
                                "a.0x1f",
                                "169.254.43518",
                                "[::1",
                                "::1]",
                                "[]",
                                "[1.2.3.4]",
                                "[a.test]",
                                "[::g]",
                                "[::1%lo]",
                                "fe80::1%1",
                                "[[::1]]",
                                "[::1]x",
                                "x[::1]",
                                "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
                                "127\u30020\u30020\u30021",
                                "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
                                "169\uff61254\uff61169\uff61254",
                                "xn--a.test",
                                "xn--localhost-.test",
                                "xn--.test",
                                "a\u202eb.test",
                                "a\u200bb\u200d.test",
                                "\xff\xfe.test",
                                "a\u2025b.test",
                                "a\uff0fb.test",
                                "a\uff20b.test"}) {
    auto host = ParseHost(text);
    ASSERT_FALSE(host) << text << " -> " << host->name;
    EXPECT_EQ(host.error().reason, Reason::kHostInvalid);
  }
  EXPECT_FALSE(ParseHost(std::string_view("evil.test\0.wild.test", 20)));
  EXPECT_FALSE(ParseHost(std::string(64, 'a') + ".test"));
  std::string labels;
  for (int i = 0; i < 130; ++i) labels += "a.";
  EXPECT_FALSE(ParseHost(labels + "test"));
}

TEST(ParseHost, AnErrorCannotSpeakToTheTerminal) {
  auto host = ParseHost("a\x1b[2Jb");
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().message.find('\x1b'), std::string::npos);
}

TEST(ParseHostPort, TakesPlainPorts) {
  auto target = ParseHostPort("a.test:443");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->host.name, "a.test");
  EXPECT_EQ(target->port, 443);
  EXPECT_EQ(ParseHostPort("a.test.:65535")->port, 65535);
  EXPECT_EQ(ParseHostPort("[::1]:22")->host.name, "::1");
  EXPECT_EQ(ParseHostPort("1.2.3.4:1")->port, 1);
  EXPECT_EQ(ParseHostPort("a.test", 443)->port, 443);
  EXPECT_EQ(ParseHostPort("::1", 443)->port, 443);
  EXPECT_EQ(ParseHostPort("[::1]", 443)->port, 443);
}

TEST(ParseHostPort, RefusesOddOnes) {
  for (std::string_view text :
       {"a.test",          "a.test:",           ":443",          "a.test:0",
        "a.test:65536",    "a.test:+443",       "a.test: 443",   "a.test:-1",
        "a.test:0443",     "a.test:0x1bb",      "a.test:443:80", "a.test:443 ",
        "a.test:44 3",     "[::1]443",          "[::1]:",        "::1:443:",
        "user@a.test:443", "http://a.test:443", "a.test:https",  "a.test:99999999999999999999"}) {
    EXPECT_FALSE(ParseHostPort(text)) << text;
  }
  EXPECT_FALSE(ParseHostPort("a.test:", 443));
  EXPECT_FALSE(ParseHostPort("[::1]x", 443));
}

TEST(HostToString, ReadsBack) {
  for (std::string_view text : {"a.test:443", "[::1]:22", "1.2.3.4:80"}) {
    EXPECT_EQ(ToString(*ParseHostPort(text)), text);
  }
}

}  // namespace
}  // namespace cordon::guard
