// Names to addresses, by c-ares with the host's own /etc/hosts and resolv.conf
// (which may change while this lives). Search domains are not used: a name is
// looked up as it stands. Answers are not judged here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "guard/ip_address.h"
#include "proxy/async.h"

namespace cordon::proxy {

struct Resolved {
  std::vector<guard::IpAddress> addresses;
  std::string problem;     // when there are none: "no such name"
  bool not_found = false;  // a name server said so
};

class Resolver {
 public:
  explicit Resolver(const Executor& executor);
  ~Resolver();  // ends what is under way: those who wait get a problem

  // A and AAAA at the same time. An answer is kept for as long as it says, for
  // 60 s at most and 1 s at least; a failure is not kept. Many that ask for the
  // same name share one query.
  Task<Resolved> Resolve(std::string name);

  // Fails what is under way.
  void Cancel();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cordon::proxy
