// Errors are values. `Result<T>` is `std::expected<T, Error>` made
// [[nodiscard]]; `Status` is `Result<void>`.
//
//   Result<Plan> plan = MakePlan(policy, facts, command);
//   if (!plan) return plan.error();
//
// No function of the library throws, prints or exits.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace cordon {

enum class Code {
  kInvalidArgument,
  kDenied,
  kNotFound,
  kUnsupported,
  kResourceExhausted,
  kDeadline,
  kSystem,
  kInternal,
};

// Stable ids, shared by `--json`, the audit log and MCP. docs/errors.md has a
// line for each; a test keeps the two lists equal.
#define CORDON_REASONS(X)                      \
  /* policy */                                 \
  X(kPolicySyntax, "policy_syntax")            \
  X(kPolicyUnknownKey, "policy_unknown_key")   \
  X(kPolicyBadValue, "policy_bad_value")       \
  X(kPolicyPathMissing, "policy_path_missing") \
  X(kPolicyUnreadable, "policy_unreadable")    \
  X(kPolicyUntrusted, "policy_untrusted")      \
  X(kPolicyTrustForbid, "policy_trust_forbid") \
  X(kUnsupported, "unsupported")               \
  /* plan */                                   \
  X(kWorkspaceInvalid, "workspace_invalid")    \
  X(kWorkspaceTooWide, "workspace_too_wide")   \
  X(kScanBudget, "scan_budget")                \
  X(kScanBlocked, "scan_blocked")              \
  X(kFloorCovered, "floor_covered")            \
  X(kRequirementUnmet, "requirement_unmet")    \
  X(kCommandInvalid, "command_invalid")        \
  /* launch */                                 \
  X(kUserNamespaces, "user_namespaces")        \
  X(kSetupFailed, "setup_failed")              \
  X(kExternalFailed, "external_failed")        \
  X(kExecFailed, "exec_failed")                \
  X(kExecNotFound, "exec_not_found")           \
  X(kExecDenied, "exec_denied")                \
  X(kSystemCall, "system_call")                \
  X(kAuditFailed, "audit_failed")              \
  /* how a run ended */                        \
  X(kExited, "exited")                         \
  X(kSignaled, "signaled")                     \
  X(kTimedOut, "timed_out")                    \
  X(kMemoryLimit, "memory_limit")              \
  X(kCpuLimit, "cpu_limit")                    \
  X(kProcessLimit, "process_limit")            \
  X(kDiskLimit, "disk_limit")                  \
  X(kCancelled, "cancelled")                   \
  X(kProtectionLost, "protection_lost")        \
  /* denials */                                \
  X(kFloorName, "floor_name")                  \
  X(kDeniedNewName, "denied_new_name")         \
  X(kUnixSocket, "unix_socket")                \
  X(kHostInvalid, "host_invalid")              \
  X(kHostDenied, "host_denied")                \
  X(kAddressDenied, "address_denied")          \
  X(kNameMismatch, "name_mismatch")            \
  X(kRequestInvalid, "request_invalid")        \
  X(kUpstreamFailed, "upstream_failed")        \
  X(kSetuidMode, "setuid_mode")                \
  X(kReadDenied, "read_denied")                \
  X(kWriteDenied, "write_denied")              \
  /* tool calls */                             \
  X(kArgumentInvalid, "argument_invalid")      \
  X(kFileUnsuitable, "file_unsuitable")        \
  X(kWaitingForInput, "waiting_for_input")     \
  X(kHookDenied, "hook_denied")                \
  X(kApprovalDenied, "approval_denied")        \
  X(kSecretFound, "secret_found")              \
  /* guards */                                 \
  X(kPathInvalid, "path_invalid")              \
  X(kPathOutside, "path_outside")              \
  X(kPathProtected, "path_protected")          \
  X(kFileType, "file_type")                    \
  X(kFileTooLarge, "file_too_large")           \
  X(kVariableInvalid, "variable_invalid")      \
  X(kVariableDenied, "variable_denied")        \
  X(kCommandEffect, "command_effect")          \
  /* general */                                \
  X(kUsage, "usage")                           \
  X(kInternal, "internal")

enum class Reason {
#define CORDON_REASON_ENUM(name, id) name,
  CORDON_REASONS(CORDON_REASON_ENUM)
#undef CORDON_REASON_ENUM
};

std::string_view ReasonId(Reason reason);

// What failed (with the call or the file, line and key), and what the user can
// do about it. `sys_errno` is 0 when no system call was involved.
struct Error {
  Code code = Code::kInternal;
  Reason reason = Reason::kInternal;
  std::string message;
  int sys_errno = 0;
  std::string hint;

  // Puts the place in front on the way up: "workspace: open /x: ENOENT".
  Error Within(std::string_view place) && {
    message = std::string(place) + ": " + message;
    return std::move(*this);
  }
  bool operator==(const Error&) const = default;
};

template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
  Result(Error error) : std::expected<T, Error>(std::unexpected(std::move(error))) {}
};

using Status = Result<void>;

}  // namespace cordon

#define CORDON_CONCAT_INNER(a, b) a##b
#define CORDON_CONCAT(a, b) CORDON_CONCAT_INNER(a, b)

// Returns the error of `expr` from the enclosing function, if it is one.
#define CORDON_TRY(expr)                                     \
  do {                                                       \
    if (auto cordon_try_result = (expr); !cordon_try_result) \
      return std::move(cordon_try_result).error();           \
  } while (false)

#define CORDON_ASSIGN_OR_RETURN(lhs, expr) \
  CORDON_ASSIGN_OR_RETURN_IMPL(CORDON_CONCAT(cordon_result_, __LINE__), lhs, expr)
#define CORDON_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                 \
  if (!tmp) return std::move(tmp).error();           \
  lhs = std::move(tmp).value()
