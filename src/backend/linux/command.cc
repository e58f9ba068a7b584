// Runs in: supervisor. Pure.
#include "backend/linux/command.h"

#include "backend/init_protocol.h"

namespace cordon::backend {

void SetCommand(const plan::Plan& plan, ChildSpec& spec) {
  if (plan.terminal == plan::Terminal::kControlling) {
    spec.init_options += kInitOptionControllingTerminal;
  }
  spec.argv = plan.command.argv;
  spec.program = plan.command.argv[0];
  spec.environment = plan.environment;
}

}  // namespace cordon::backend
