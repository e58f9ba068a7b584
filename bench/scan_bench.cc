// GB/s of the secret scanner on one core, beside the regular expression engines alone.
//
// The text is this repository's own source. The peers search it for the rules of
// rules/secrets.toml that are patterns (no names, no decoding, no judging): less work than
// ours.
#include <benchmark/benchmark.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <re2/set.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "guard/secrets/default_rules.h"
#include "guard/secrets/known.h"
#include "guard/secrets/scanner.h"

namespace cordon::guard {
namespace {

constexpr size_t kBytes = 16 << 20;

const std::string& Text() {
  static const std::string kText = [] {
    const char* source = std::getenv("CORDON_SOURCE_DIR");
    std::string all;
    std::filesystem::path top = source == nullptr ? "." : source;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top / "src")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    while (!all.empty() && all.size() < kBytes) all += all;
    all.resize(kBytes, '\n');
    return all;
  }();
  return kText;
}

void Done(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

void Memcpy(benchmark::State& state) {
  std::string copy(kBytes, '\0');
  for (auto _ : state) {
    std::memcpy(copy.data(), Text().data(), kBytes);
    benchmark::ClobberMemory();
  }
  Done(state, kBytes);
}
BENCHMARK(Memcpy);

void AllRulesAllDecoders(benchmark::State& state) {
  SecretRules rules = *LoadSecretRules({});
  for (auto _ : state) benchmark::DoNotOptimize(FindSecrets(rules, Text()));
  Done(state, kBytes);
}
BENCHMARK(AllRulesAllDecoders);

void KnownValues(benchmark::State& state) {
  std::mt19937 random(1);
  KnownSecrets known;
  for (int i = 0; i < 64; ++i) {
    std::string value;
    while (value.size() < 32) value += static_cast<char>('!' + random() % 90);
    known.Add("k", value);
  }
  for (auto _ : state) {
    known.Find(Text(), [](const KnownSecrets::Hit& hit) { benchmark::DoNotOptimize(hit.begin); });
  }
  Done(state, kBytes);
}
BENCHMARK(KnownValues);

void LoadRules(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(LoadSecretRules({}));
}
BENCHMARK(LoadRules);

void OneLine(benchmark::State& state) {
  SecretRules rules = *LoadSecretRules({});
  for (auto _ : state) benchmark::DoNotOptimize(FindSecrets(rules, "make: nothing to be done\n"));
}
BENCHMARK(OneLine);

bool IsPattern(const DefaultRule& rule) {
  return rule.kind == RuleSpec::Kind::kAt || rule.kind == RuleSpec::Kind::kPattern;
}

void Re2Set(benchmark::State& state) {
  re2::RE2::Options options;
  options.set_max_mem(256 << 20);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  re2::RE2::Set set(options, re2::RE2::UNANCHORED);
  for (const DefaultRule& rule : DefaultRules()) {
    if (IsPattern(rule)) set.Add(std::string(DefaultText(rule.regex)), nullptr);
  }
  set.Compile();
  constexpr size_t kPart = 1 << 20;  // it is slow
  std::vector<int> matched;
  for (auto _ : state) {
    for (size_t at = 0; at < kPart; at += 4096) {
      benchmark::DoNotOptimize(set.Match(Text().substr(at, 4096), &matched));
    }
  }
  Done(state, kPart);
}
BENCHMARK(Re2Set);

void Pcre2Jit(benchmark::State& state) {
  std::vector<pcre2_code*> codes;
  for (const DefaultRule& rule : DefaultRules()) {
    if (!IsPattern(rule)) continue;
    int error = 0;
    PCRE2_SIZE offset = 0;
    std::string regex(DefaultText(rule.regex));
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(regex.data()), regex.size(), 0,
                                     &error, &offset, nullptr);
    if (code == nullptr) continue;
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    codes.push_back(code);
  }
  constexpr size_t kPart = 1 << 20;
  pcre2_match_data* match = pcre2_match_data_create(16, nullptr);
  for (auto _ : state) {
    for (pcre2_code* code : codes) {
      benchmark::DoNotOptimize(pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(Text().data()), kPart,
                                           0, 0, match, nullptr));
    }
  }
  Done(state, kPart);
  pcre2_match_data_free(match);
  for (pcre2_code* code : codes) pcre2_code_free(code);
}
BENCHMARK(Pcre2Jit);

}  // namespace
}  // namespace cordon::guard

BENCHMARK_MAIN();
