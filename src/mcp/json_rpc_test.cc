#include "mcp/json_rpc.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

using Kind = Message::Kind;

int CodeOf(const Message& message) { return message.answer["error"]["code"].get<int>(); }

TEST(JsonRpc, ReadsMessages) {
  Message request = ReadMessage(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  EXPECT_EQ(request.kind, Kind::kRequest);
  EXPECT_EQ(request.method, "ping");
  EXPECT_TRUE(request.params.is_object());
  EXPECT_EQ(ReadMessage(R"({"jsonrpc":"2.0","id":"a","method":"m","params":{}})").kind,
            Kind::kRequest);
  EXPECT_EQ(ReadMessage(R"({"jsonrpc":"2.0","method":"m"})").kind, Kind::kNotification);
  Message response = ReadMessage(R"({"jsonrpc":"2.0","id":"q","result":{"x":1}})");
  EXPECT_EQ(response.kind, Kind::kResponse);
  EXPECT_EQ(response.result["x"], 1);
}

TEST(JsonRpc, RefusesWhatIsNone) {
  EXPECT_EQ(CodeOf(ReadMessage("nonsense")), -32700);
  EXPECT_EQ(CodeOf(ReadMessage("{\"jsonrpc\":")), -32700);
  EXPECT_EQ(CodeOf(ReadMessage("[]")), -32600);
  EXPECT_EQ(CodeOf(ReadMessage("1")), -32600);
  EXPECT_EQ(CodeOf(ReadMessage("{}")), -32600);
  EXPECT_EQ(CodeOf(ReadMessage(R"({"jsonrpc":"1.0","id":1,"method":"m"})")), -32600);
  EXPECT_EQ(CodeOf(ReadMessage(R"({"jsonrpc":"2.0","id":1,"method":7})")), -32600);
  EXPECT_EQ(CodeOf(ReadMessage(R"({"jsonrpc":"2.0","id":null,"method":"m"})")), -32600);
  EXPECT_EQ(CodeOf(ReadMessage(R"({"jsonrpc":"2.0","id":1.5,"method":"m"})")), -32600);
  Message params = ReadMessage(R"({"jsonrpc":"2.0","id":3,"method":"m","params":[1]})");
  EXPECT_EQ(CodeOf(params), -32602);
  EXPECT_EQ(params.answer["id"], 3);
}

// An answer to nothing is not answered: that could go on forever.
TEST(JsonRpc, SaysNothingToABadResponse) {
  Message message = ReadMessage(R"({"jsonrpc":"2.0","id":1})");
  EXPECT_EQ(message.kind, Kind::kInvalid);
  EXPECT_TRUE(message.answer.is_null());
}

TEST(JsonRpc, DeepJsonIsNotRead) {
  std::string deep(100'000, '[');
  EXPECT_EQ(CodeOf(ReadMessage(deep)), -32700);
  EXPECT_EQ(CodeOf(ReadMessage(deep + std::string(100'000, ']'))), -32700);
  std::string shallow = std::string(50, '[') + std::string(50, ']');
  EXPECT_TRUE(ParseJson(shallow));
}

TEST(JsonRpc, ALineIsOneLineOfUtf8) {
  std::string line = Line(Answer(1, {{"text", "a\nb\xff"}}));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_NE(line.find("\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace cordon::mcp
