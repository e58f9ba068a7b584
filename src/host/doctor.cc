#include "host/facts.h"
namespace cordon::host {
std::vector<Finding> Examine() { return {ExamineUserNamespaces()}; }
Finding ExamineUserNamespaces() { return {}; }
}  // namespace cordon::host
