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
printf 'version = 1\n[fs]\nread = ["/", "/no/such"]\nwrite = ["?/nor/this"]\ndeny_read = ["*.key"]\n' > "$root/far.toml"
expect 0 'far.toml:3: /no/such does not exist here' policy check "$root/far.toml"
expect 0 'far.toml: ok' policy check "$root/far.toml"
expect 1 'far.toml:3: /no/such does not exist here' policy check --paths "$root/far.toml"
expect 0 '"valid": true, "missing": ["' policy check --json "$root/far.toml"
expect 1 '"valid": false' policy check --json --paths "$root/far.toml"
expect 0 'policy: ok' policy check --paths
mkdir "$root/home/near" "$root/other"
cd "$root/other" || exit 1  # without a .cordon.toml
expect 125 '/no/such does not exist' plan --policy "$root/far.toml" -- true
cd "$root/ws" || exit 1
printf 'version = 1\n[fs]\nread = ["/", "~/near"]\n' > "$root/near.toml"
expect 0 'near.toml: ok' policy check --paths "$root/near.toml"
case $("$cordon" policy check "$root/near.toml" 2>&1) in *exist*) echo "FAIL: ~/near"; failures=$((failures + 1)) ;; esac
printf '' > inside.toml
expect 1 'lies inside a writable root' policy show --policy inside.toml

[ $failures -eq 0 ]
