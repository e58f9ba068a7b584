// Runs in: the stage inside of bubblewrap, which is init's program before it becomes
// init. No libc.
#pragma once

namespace cordon::spawn {

// argv of the stage: "cordon-init", "-b".
inline constexpr char kOptionStage = 'b';

// The descriptors that bubblewrap passes on, besides those that init is started with.
// 0, 1 and 2 are bubblewrap's own.
inline constexpr int kStageStreams[3] = {7, 8, 9};  // the command's
inline constexpr int kStageSpecFd = 10;             // Pack of spawn/flat
inline constexpr int kBubblewrapArgumentsFd = 11;   // for bubblewrap alone, as kBubblewrapProgramFd

// Runs the rest of the steps, under what bubblewrap has made.
[[noreturn]] void RunStage() noexcept;

}  // namespace cordon::spawn
