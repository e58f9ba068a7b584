#!/bin/sh
# cordon policy, as a user meets it. Usage: policy_test.sh CORDON
set -u
cordon=$1
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
mkdir "$root/home" "$root/ws" && cd "$root/ws" || exit 1
export HOME="$root/home" NO_COLOR=1
unset XDG_STATE_HOME
failures=0

# expect STATUS TEXT ARG…: cordon ARG… exits with STATUS and prints TEXT.
expect() {
  status=$1 text=$2; shift 2
  output=$("$cordon" "$@" 2>&1); got=$?
  case $output in *"$text"*) found=1 ;; *) found=0 ;; esac
  if [ $got -ne "$status" ] || [ $found -ne 1 ]; then
    echo "FAIL: cordon $*: status $got (expected $status), expected \"$text\" in: $output"
    failures=$((failures + 1))
  fi
}

expect 2 'Usage: cordon'
expect 0 'Usage: cordon' --help
expect 0 'cordon 0.' --version
expect 2 'did you mean "policy"?' polcy
expect 2 '' policy
expect 2 '' policy show --no-such-flag
expect 0 'preset workspace:' policy show
expect 0 'mode = "open"  # flag --net' policy show --net open
expect 0 '"version": 1' policy show strict --json
expect 0 'Reads only the system' policy show strict
expect 0 '**.npmjs.org' policy show @npm
expect 0 '["**.npmjs.org", ' policy show @npm --json
expect 1 'expected a host list that exists' policy show @nothing
expect 1 'net.mode = "public"' policy show --allow-domain '*.com'
expect 0 '*.com' policy show --deny-domain '*.com'
expect 1 'flag --timeout: limits.wall: expected a duration' policy show --timeout 0
expect 1 '+ fs.caches "none"' policy diff workspace rx
expect 0 '' policy diff rx rx
expect 0 '"$schema"' policy schema
expect 0 'created' policy init
expect 1 'File exists' policy init
expect 0 'policy: ok' policy check
expect 0 '.cordon.toml: trusted' policy trust
expect 0 '.cordon.toml: revoked' policy trust --revoke
printf '[fs]\nraed = []\n' > "$root/bad.toml"
expect 1 'bad.toml:2: fs.raed: unknown key' policy check "$root/bad.toml"
expect 1 'did you mean "fs.read"?' policy check "$root/bad.toml"
expect 1 '"reason": "policy_unknown_key"' policy check --json "$root/bad.toml"
expect 1 'No such file' policy check "$root/missing.toml"
printf '' > inside.toml
expect 1 'lies inside a writable root' policy show --policy inside.toml

[ $failures -eq 0 ]
