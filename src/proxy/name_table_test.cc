#include "proxy/name_table.h"

#include <gtest/gtest.h>

namespace cordon::proxy {
namespace {

using guard::Family;
using guard::Host;
using guard::IpAddress;

IpAddress V4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return {.family = Family::kV4, .bytes = {a, b, c, d}};
}

IpAddress V6(uint8_t above, uint8_t last) {
  return {.family = Family::kV6,
          .bytes = {0xfd, 0x63, 0x6f, 0x72, 0x64, 0x6f, 0, 0x6e, 0, 0, 0, 0, 0, 0, above, last}};
}

Host Name(std::string name) { return {.name = std::move(name)}; }

TEST(NameTable, GivesEachNameItsAddresses) {
  NameTable table;
  EXPECT_EQ(table.AddressFor(Name("a.test"), Family::kV4), V4(198, 18, 1, 0));
  EXPECT_EQ(table.AddressFor(Name("b.test"), Family::kV6), V6(1, 1));
  EXPECT_EQ(table.AddressFor(Name("b.test"), Family::kV4), V4(198, 18, 1, 1));
  EXPECT_EQ(table.AddressFor(Name("a.test"), Family::kV6), V6(1, 0));
  EXPECT_EQ(table.AddressFor(Name("a.test"), Family::kV4), V4(198, 18, 1, 0));
}

TEST(NameTable, MapsBack) {
  NameTable table;
  for (Family family : {Family::kV4, Family::kV6}) {
    for (const char* name : {"a.test", "b.test"}) {
      std::optional<IpAddress> address = table.AddressFor(Name(name), family);
      ASSERT_TRUE(address);
      EXPECT_EQ(table.NameOf(*address), Name(name));
    }
  }
}

TEST(NameTable, KnowsNoOtherAddress) {
  NameTable table;
  ASSERT_TRUE(table.AddressFor(Name("a.test"), Family::kV4));
  for (const IpAddress& other :
       {V4(198, 18, 0, 1), V4(198, 18, 0, 0), V4(198, 18, 1, 1), V4(198, 17, 255, 255),
        V4(198, 20, 1, 0), V4(0, 0, 1, 0), V4(10, 0, 0, 1), V6(0, 1), V6(1, 1)}) {
    EXPECT_EQ(table.NameOf(other), std::nullopt);
  }
  for (size_t at = 0; at < 15; ++at) {
    IpAddress near = V6(1, 0);
    near.bytes[at] ^= 0x80;
    EXPECT_EQ(table.NameOf(near), std::nullopt) << at;
  }
  EXPECT_TRUE(table.NameOf(V6(1, 0)));
}

TEST(NameTable, AddressesHaveNoAddress) {
  NameTable table;
  EXPECT_EQ(table.AddressFor({"10.0.0.1", V4(10, 0, 0, 1)}, Family::kV4), std::nullopt);
}

TEST(NameTable, FullTableRefusesNewNamesOnly) {
  NameTable table(2);
  std::optional<IpAddress> first = table.AddressFor(Name("a.test"), Family::kV4);
  ASSERT_TRUE(table.AddressFor(Name("b.test"), Family::kV4));
  EXPECT_EQ(table.AddressFor(Name("c.test"), Family::kV4), std::nullopt);
  EXPECT_EQ(table.AddressFor(Name("a.test"), Family::kV4), first);
}

TEST(NameTable, StaysWithinThePool) {
  NameTable table(1'000'000);
  std::optional<IpAddress> last;
  for (size_t i = 0; i < NameTable::kMaxNames; ++i) {
    last = table.AddressFor(Name("n" + std::to_string(i) + ".test"), Family::kV4);
  }
  EXPECT_EQ(last, V4(198, 19, 255, 255));
  EXPECT_EQ(table.NameOf(*last), Name("n" + std::to_string(NameTable::kMaxNames - 1) + ".test"));
  EXPECT_EQ(table.AddressFor(Name("more.test"), Family::kV4), std::nullopt);
}

}  // namespace
}  // namespace cordon::proxy
