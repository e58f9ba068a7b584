// cordon tool [POLICY] NAME · tool list · tool install FILE
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "base/base64.h"
#include "base/error.h"
#include "base/strings.h"
#include "cli/agent_setup.h"
#include "cli/command.h"
#include "cli/output.h"
#include "guard/path.h"
#include "sys/process.h"

namespace cordon::cli {
namespace {

using agent::Json;

constexpr size_t kMostInput = size_t{64} << 20;
constexpr size_t kMostProgram = size_t{512} << 20;

struct Options {
  AgentFlags flags;
  bool json = false;
  std::string name;
  std::string file;  // of install
  std::string installed_name;

  OutputForm form() const { return json ? OutputForm::kJson : OutputForm::kText; }
};

Result<std::string> ReadDescriptor(int fd, size_t most) {
  std::string bytes;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::SystemError("read", errno);
    if (got == 0) return bytes;
    bytes.append(buffer.data(), static_cast<size_t>(got));
    if (bytes.size() > most) return base::InvalidArgument(Reason::kUsage, "too much input");
  }
}

std::string Line(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int Call(const Options& options) {
  Result<std::string> input = ReadDescriptor(STDIN_FILENO, kMostInput);
  if (!input) return PrintError(input.error(), OutputForm::kJson), kExitUsage;
  Json arguments = Json::parse(*input, nullptr, /*allow_exceptions=*/false);
  if (arguments.is_discarded()) {
    PrintError(base::InvalidArgument(Reason::kUsage, "stdin is not JSON"), OutputForm::kJson);
    return kExitUsage;
  }
  auto box = MakeToolbox(options.flags, agent::Workbench::Lifetime::kOneCall);
  if (!box) return PrintError(box.error(), OutputForm::kJson), kExitRefused;
  agent::CallContext context;
  Result<agent::ToolResult> result = (*box)->Call(options.name, arguments, context);
  if (!result) return PrintError(result.error(), OutputForm::kJson), kExitUsage;
  bool failed = result->state == agent::ToolResult::State::kFailed;
  Json output = {{"ok", !failed}, {"text", result->text}, {"result", result->structured}};
  if (result->attachment) {
    output["attachment"] = {{"name", result->attachment->name},
                            {"mime_type", result->attachment->mime_type},
                            {"base64", base::ToBase64(result->attachment->bytes)}};
  }
  Print(Line(output));
  return failed ? kExitNegative : kExitOk;
}

int List(const Options& options) {
  AgentFlags flags = options.flags;
  flags.role = "chat";
  flags.allow_root = true;
  auto box = MakeToolbox(flags, agent::Workbench::Lifetime::kServer);
  if (!box) return PrintError(box.error(), options.form()), kExitRefused;
  Json list = Json::array();
  std::string text;
  for (const agent::Tool& tool : (*box)->tools()) {
    list.push_back({{"name", tool.info.name},
                    {"description", tool.info.description},
                    {"effect", agent::EffectName(tool.info.effect)},
                    {"input_schema", agent::InputSchema(tool.info)}});
    text += fmt::format("{:<14} {}\n", tool.info.name, tool.info.description);
  }
  Print(options.json ? Line(list) : text);
  return kExitOk;
}

Status WriteProgram(const std::string& place, std::string_view bytes) {
  std::string temporary = place + ".new";
  unlink(temporary.c_str());
  sys::UniqueFd fd(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0755));
  if (!fd.valid()) return base::SystemError("create " + temporary, errno);
  while (!bytes.empty()) {
    ssize_t written = write(fd.get(), bytes.data(), bytes.size());
    if (written < 0) return base::SystemError("write " + temporary, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  fd.reset();
  if (rename(temporary.c_str(), place.c_str()) != 0) {
    return base::SystemError("rename " + temporary, errno);
  }
  return {};
}

// Done by a person, outside: inside, the directory is not writable.
Result<std::string> Install(const Options& options) {
  CORDON_ASSIGN_OR_RETURN(session::Request request,
                          ReadRequest(options.flags.run, std::vector<std::string>{"true"}));
  std::string directory = agent::ToolsDirectory(request.policy, request.environment);
  if (directory.empty()) {
    return base::InvalidArgument(Reason::kUsage, "there is no HOME to install tools in");
  }
  sys::UniqueFd fd(open(options.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!fd.valid() || fstat(fd.get(), &status) != 0) {
    return base::SystemError("open " + base::Printable(options.file), errno);
  }
  if (!S_ISREG(status.st_mode) || (status.st_mode & S_IXUSR) == 0) {
    return base::InvalidArgument(Reason::kUsage,
                                 base::Printable(options.file) + " is not an executable file");
  }
  CORDON_ASSIGN_OR_RETURN(std::string bytes, ReadDescriptor(fd.get(), kMostProgram));
  std::string name = options.installed_name.empty()
                         ? std::string(guard::BaseName(guard::NormalizePath(options.file)))
                         : options.installed_name;
  if (name.empty() || name.starts_with('.') || name.find('/') != name.npos) {
    return base::InvalidArgument(Reason::kUsage, "\"" + base::Printable(name) + "\" is no name");
  }
  CORDON_TRY(sys::MakeDirectories(directory));
  std::string place = directory + "/" + name;
  CORDON_TRY(WriteProgram(place, bytes));
  return place;
}

int InstallAndTell(const Options& options) {
  Result<std::string> place = Install(options);
  if (!place) return PrintError(place.error(), options.form()), kExitUsage;
  Print(options.json ? Line({{"installed", *place}})
                     : "installed " + base::Printable(*place) + "\n");
  return kExitOk;
}

int Run(const Options& options) {
  if (options.name == "list") return List(options);
  if (options.name == "install") return InstallAndTell(options);
  return Call(options);
}

}  // namespace

Action SetupTool(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  AddAgentFlags(arguments, options->flags);
  arguments.Flag("--json", options->json, "Print JSON (list, install)");
  arguments.Option("--name", options->installed_name, "NAME", "install: another name for it");
  arguments.Required("NAME", options->name, "The tool; or list, or install");
  arguments.Add({.name = "FILE",
                 .doc = "install: an executable, put first in the PATH of all tools",
                 .target = &options->file,
                 .most = 1});
  arguments.Footer(
      "The arguments of the call are a JSON object on stdin; the result is one on stdout: `text`\n"
      "is for a model, `result` for a program. `cordon tool list --json` has the schemas.\n"
      "Exit status: 0 done, 1 denied or failed, 2 bad usage, 125 no command could be run.");
  return [options] { return Run(*options); };
}

}  // namespace cordon::cli
