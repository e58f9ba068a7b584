// What reading a policy costs at start-up.
#include <benchmark/benchmark.h>

#include "policy/compose.h"
#include "policy/document.h"
#include "policy/layers.h"
#include "policy/preset.h"

namespace cordon::policy {
namespace {

Context Ctx() { return {.home = "/home/u", .workspace = "/home/u/project", .env = {}}; }

void ParsePresetAsToml(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ParseDocument(PresetText("workspace"), Format::kToml, "x"));
  }
}
BENCHMARK(ParsePresetAsToml);

void DefaultPreset(benchmark::State& state) {
  Context context = Ctx();
  for (auto _ : state) benchmark::DoNotOptimize(Preset(kDefaultPreset, context));
}
BENCHMARK(DefaultPreset);

void StackDefault(benchmark::State& state) {
  Context context = Ctx();
  LayerInputs inputs;
  for (auto _ : state) benchmark::DoNotOptimize(Stack(inputs, context));
}
BENCHMARK(StackDefault);

void StackWithSmallWorkspaceFile(benchmark::State& state) {
  Context context = Ctx();
  LayerInputs inputs{.workspace_file = Source{"w", "version = 1\n[fs]\ndeny_read = [\".env\"]\n"}};
  for (auto _ : state) benchmark::DoNotOptimize(Stack(inputs, context));
}
BENCHMARK(StackWithSmallWorkspaceFile);

}  // namespace
}  // namespace cordon::policy

BENCHMARK_MAIN();
