#include "plan/plan.h"
namespace cordon::plan {
std::string Describe(const Plan&) { return {}; }
std::string ToJson(const Plan&) { return {}; }
}  // namespace cordon::plan
