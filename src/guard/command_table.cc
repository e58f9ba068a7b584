#include "guard/command_table.h"

namespace cordon::guard {
namespace {

constexpr Effect kRead = Effect::kReadOnly;
constexpr Effect kLocal = Effect::kLocalChange;
constexpr Effect kRemote = Effect::kRemote;
constexpr Effect kUnknown = Effect::kUnknown;
constexpr Effect kDestroys = Effect::kDestructive;

// clang-format off
constexpr CommandRow kRows[] = {
    // The shell's own.
    {":|true|false|echo|pwd|cd|pushd|popd|dirs|type|wait|jobs|exit|return|break|continue|shift|times|"
     "umask|ulimit|getopts|caller|set|unset|logout", kRead},
    {"printf|test|[", kRead},
    {"export|declare|typeset|local|readonly|read|trap|eval", kRead},  // looked at closer
    {"history", kRead, "-c -d -w -a", kLocal},
    {"shopt|alias|hash", kUnknown},
    {"fc|bg|fg|disown|suspend|bind|complete|enable|source|.|let|mapfile|readarray", kUnknown},

    // Files, read.
    {"cat|head|tail|less|more|nl|tac|rev|wc|cut|tr|paste|join|comm|fold|fmt|expand|unexpand|column|pr|"
     "od|hexdump|strings|cmp|sum|cksum|md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|b2sum|"
     "ls|dir|vdir|stat|readlink|realpath|basename|dirname|du|df|namei|pathchk|file|zcat|bzcat|xzcat|zstdcat|"
     "zgrep|base64|base32|numfmt|tsort|shuf|jq|grep|egrep|fgrep|ag|ack", kRead},
    {"file", kRead, "-C --compile", kLocal},
    {"shuf", kRead, "-o --output", kLocal},
    {"less|more", kRead, "-o -O --log-file", kLocal},
    {"diff|diff3|sdiff", kRead, "-o --output", kLocal},
    {"sort", kRead, "-o --output -T --temporary-directory", kLocal},
    {"sort", kRead, "--compress-program"},
    {"tree", kRead, "-o --output", kLocal},
    {"rg", kRead, "--pre --hostname-bin"},
    {"fd|fdfind", kRead, "-x -X --exec --exec-batch"},
    {"yq", kRead, "-i --inplace --in-place -s --split-exp", kLocal},
    {"find", kRead, "-fprint -fprint0 -fprintf -fls", kLocal},
    {"find", kRead, "-delete", kDestroys},
    {"locate|mlocate|plocate", kRead},
    {"bat|batcat", kRead, "--pager"},

    // The machine, read.
    {"whoami|id|groups|who|w|users|last|uname|arch|nproc|uptime|free|tty|ps|pgrep|pidof|pstree|"
     "lsblk|lscpu|lsmem|lspci|lsusb|lsof|vmstat|iostat|mpstat|getconf|locale|getent|printenv|which|"
     "whereis|whatis|apropos|man|info|cal|seq|sleep|factor|yes|expr|logname|hostid|findmnt|blkid|nm|"
     "objdump|readelf|size|tput", kRead},
    {"ldconfig", kDestroys},
    {"lsof", kRead, "-D"},
    {"man", kRead, "-P --pager -H --html -X"},
    {"date", kRead, "-s --set", kDestroys},
    {"dmesg", kRead, "-c -C -D -E -n --clear --read-clear", kDestroys},
    {"journalctl", kRead, "--vacuum-size --vacuum-time --vacuum-files --rotate --flush", kDestroys},
    {"ip addr $|ip a $|ip addr show|ip route $|ip r $|ip route show|ip route get|ip link $|ip link show|ip neigh $|"
     "hostname $|hostname -f|hostname -i|hostname -I|hostname -s|command -v|command -V", kRead},
    {"ip|hostname", kDestroys},
    {"ss|netstat", kRead, "-K --kill", kDestroys},

    // Local changes.
    {"touch|mkdir|cp|mv|ln|install|patch|tee|chmod|chown|chgrp|split|csplit|gzip|gunzip|bzip2|bunzip2|"
     "xz|unxz|zstd|unzstd|zip|unzip|ar|mktemp|mkfifo|mknod|rename|ed|setfacl|setfattr|chattr|"
     "clang-format|gofmt|rustfmt|black|prettier|isort|sponge|iconv|dos2unix|unix2dos", kLocal},
    {"tar", kLocal, "--to-command --use-compress-program --checkpoint-action -I -F --info-script --rsh-command"},
    {"tar -t|tar tf|tar tvf|tar -tf|tar -tvf|tar -tzf|tar tzf|tar --list", kRead,
     "--to-command --use-compress-program --checkpoint-action -I -F --info-script --rsh-command"},
    {"zip", kLocal, "-T -TT --unzip-command"},
    {"unzip -l|unzip -t|unzip -Z|zipinfo", kRead},
    {"crontab", kLocal, "-r", kDestroys},
    {"crontab -l", kRead},
    {"gcc|g++|cc|c++|clang|clang++|ld|as|strip|rustc|javac|tsc", kLocal, "-B -fplugin -wrapper -specs"},

    // Destruction.
    {"rm|rmdir|unlink|shred|wipefs|mkfs|mkswap|fdisk|sfdisk|gdisk|sgdisk|parted|cfdisk|truncate|"
     "kill|pkill|killall|killall5|skill|shutdown|reboot|halt|poweroff|init|telinit|"
     "mount|umount|swapon|swapoff|losetup|insmod|rmmod|modprobe|sysctl|setenforce|iptables|"
     "ip6tables|nft|ufw|useradd|userdel|usermod|groupadd|groupdel|passwd|chpasswd|visudo|setcap|"
     "nsenter|unshare|chroot|pivot_root|debugfs|hdparm|fstrim|srm|mkfs.ext4|mkfs.xfs|mkfs.btrfs|mkfs.vfat",
     kDestroys},
    {"kill -l|kill -L", kRead},
    {"dd", kRead, "of", kDestroys},

    // git. What it reads may still run what the repository's configuration names.
    {"git status|git log|git show|git shortlog|git describe|git rev-parse|git rev-list|git ls-files|git ls-tree|"
     "git merge-base|git name-rev|git for-each-ref|git show-ref|git count-objects|git check-ignore|"
     "git check-attr|git cherry|git blame|git annotate|git whatchanged|git version|git help|git var|"
     "git diff|git diff-tree|git diff-index|git diff-files|git range-diff|git cat-file|git grep|"
     "git stash list|git stash show|git worktree list|git remote -v|git remote get-url|git notes list|"
     "git config --get|git config --get-all|git config --get-regexp|git config --list|git config -l|"
     "git config get|git config list|git submodule status|git reflog show|git bundle verify|git verify-commit", kRead,
     "--ext-diff --textconv --filters"},
    {"git grep", kRead, "-O --open-files-in-pager"},
    {"git log|git show|git diff|git diff-tree|git diff-index|git diff-files|git range-diff|git stash show", kRead, "--output",
     kLocal},
    {"git branch|git tag|git remote|git config|git reflog|git stash|git worktree|git submodule|git notes", kLocal,
     "-e --edit --get-urlmatch"},
    {"git branch|git tag", kLocal, "-d -D --delete -f --force -M -C", kDestroys},
    {"git branch -a|git branch -r|git branch -v|git branch -vv|git branch --list|git branch --show-current|"
     "git branch --all|git branch --remotes|git branch --contains|git branch --merged|git branch --no-merged|"
     "git branch -l|git branch $|git tag -l|git tag --list|git tag $", kRead, "-d -D --delete -f --force -M -C -m -c", kDestroys},
    {"git remote $|git reflog $|git submodule $|git notes $", kRead},
    {"git remote remove|git remote rm|git remote prune|git stash drop|git stash clear|git worktree remove|"
     "git worktree prune|git reflog expire|git reflog delete|git submodule deinit|git notes remove|git notes prune",
     kDestroys},
    {"git remote show|git remote update|git submodule update|git submodule add|git submodule init|git ls-remote|git fetch|git pull|"
     "git clone", kRemote, "--upload-pack -u --exec -c --config --template --recurse-submodules"},
    {"git push", kRemote, "-f --force --force-with-lease --delete -d --mirror --prune", kDestroys},
    {"git push", kRemote, "--exec --receive-pack"},
    {"git submodule foreach|git bisect|git filter-branch|git difftool|git mergetool|git daemon|git hook|"
     "git send-email|git svn|git p4|git maintenance|git archive|git credential", kUnknown},
    {"git add|git commit|git mv|git merge|git cherry-pick|git revert|git apply|git am|git init|git switch|"
     "git pack-refs|git repack|git rebase|git sparse-checkout|git format-patch", kLocal,
     "-x --exec -i --interactive --template"},
    {"git switch", kLocal, "-f --force --discard-changes -C", kDestroys},
    {"git checkout", kLocal, "-f --force -B -- .", kDestroys},
    {"git reset", kLocal, "--hard --merge --keep", kDestroys},
    {"git rm", kLocal, "-f --force -r", kDestroys},
    {"git restore|git clean|git gc|git prune|git update-ref|git replace|git filter-repo", kDestroys},
    {"git restore --staged", kLocal, "-W --worktree", kDestroys},
    {"git clean -n|git clean --dry-run|git clean -nd", kRead, "-f --force", kDestroys},

    // Other machines.
    {"curl|wget|ssh|scp|sftp|ftp|telnet|nc|ncat|netcat|socat|ping|ping6|traceroute|tracepath|mtr|dig|"
     "nslookup|host|whois|aria2c|http|https|xh|gh|glab|hub|aws|gcloud|az|doctl|heroku|flyctl|fly|vercel|netlify|"
     "mail|sendmail|mutt|rclone|s3cmd|gsutil|psql|mysql|redis-cli|mongosh|kubectl|helm|ansible|twine|lynx|w3m", kRemote},
    {"nc|ncat|netcat|socat|ssh", kRemote, "-e -c --exec --sh-exec -o -F"},
    {"curl|wget", kRemote, "-K --config --use-askpass --execute"},
    {"aws s3 rm|aws s3 rb|gh repo delete|gh release delete|gh secret delete|kubectl delete|kubectl drain|"
     "helm uninstall|helm delete|gcloud projects delete|rclone delete|rclone purge|gsutil rm|heroku destroy|fly destroy",
     kDestroys},
    {"kubectl exec|kubectl run|kubectl debug|kubectl cp|gh extension|gh alias|gh codespace", kUnknown},
    {"rsync", kRemote, "--delete --delete-before --delete-after --delete-during --delete-excluded --remove-source-files",
     kDestroys},
    {"rsync", kRemote, "-e --rsh --rsync-path"},

    // Packages.
    {"pip list|pip show|pip freeze|pip3 list|pip3 show|pip3 freeze|npm ls|npm list|npm root|npm bin|"
     "yarn list|pnpm list|pnpm ls|cargo tree|cargo metadata|cargo locate-project|go version|go env|go doc|gem list|"
     "dpkg -l|dpkg -L|dpkg -s|dpkg -S|dpkg --list|dpkg-query|apt list|apt show|apt-cache|rpm -q|rpm -qa|rpm -ql|"
     "brew list|rustup show|rustup toolchain list|pacman -Q|composer show", kRead},
    {"go env", kRead, "-w -u", kLocal},
    {"npm install|npm i|npm ci|npm update|npm add|npm view|npm info|npm search|npm outdated|npm audit|npm fund|"
     "npm login|npm whoami|npm pack|yarn add|yarn install|pnpm add|pnpm install|pnpm i|pip install|pip3 install|"
     "pip download|pip3 download|pip search|pip index|cargo install|cargo add|cargo update|cargo fetch|cargo search|"
     "go get|go install|go mod|gem install|bundle install|apt install|apt update|apt upgrade|apt search|"
     "apt-get install|apt-get update|apt-get upgrade|brew install|brew update|brew upgrade|brew search|"
     "dnf install|yum install|zypper install|pacman -S|apk add|rustup update|rustup install|composer install|"
     "composer require|poetry add|poetry install|uv pip|uv add|uv sync|conda install", kRemote},
    {"npm publish|npm unpublish|npm deprecate|cargo publish|cargo yank|twine upload|gem push|poetry publish|uv publish",
     kDestroys},
    {"npm uninstall|npm remove|npm rm|pip uninstall|pip3 uninstall|yarn remove|pnpm remove|pnpm rm|"
     "apt remove|apt purge|apt autoremove|apt-get remove|apt-get purge|apt-get autoremove|brew uninstall|dnf remove|"
     "yum remove|pacman -R|apk del|cargo clean|gem uninstall|dpkg -r|dpkg -P", kDestroys},
    {"cargo fmt", kLocal},
    {"npm|npx|yarn|pnpm|pip|pip3|cargo|go|gem|bundle|apt|apt-get|brew|dnf|yum|zypper|pacman|apk|rustup|composer|poetry|"
     "uv|conda|dpkg|rpm|make|cmake|ninja|meson|mvn|gradle|ant|bazel|tox|pytest|jest", kUnknown},

    // Services and containers.
    {"systemctl status|systemctl list-units|systemctl list-unit-files|systemctl is-active|systemctl is-enabled|"
     "systemctl show|systemctl cat|systemctl list-timers|docker ps|docker images|docker inspect|docker logs|"
     "docker version|docker info|docker top|docker stats|docker diff|docker port|docker history|docker image ls|"
     "docker container ls|docker volume ls|docker network ls|docker compose ps|docker compose logs|docker compose config|"
     "podman ps|podman images|podman inspect|podman logs|podman version|podman info", kRead},
    {"docker pull|docker push|docker login|docker logout|docker search|podman pull|podman push", kRemote},
    {"docker rm|docker rmi|docker kill|docker stop|docker system prune|docker image prune|docker volume rm|"
     "docker volume prune|docker network rm|docker container prune|docker image rm|docker container rm|docker compose down|"
     "docker compose rm|podman rm|podman rmi|podman kill|podman stop|systemctl stop|systemctl disable|systemctl mask|"
     "systemctl reboot|systemctl poweroff|systemctl halt|systemctl kill|terraform destroy|terraform apply|tofu apply|"
     "tofu destroy|pulumi up|pulumi destroy|vagrant destroy|dropdb|mysqladmin", kDestroys},
    {"systemctl start|systemctl restart|systemctl reload|systemctl enable|systemctl daemon-reload", kLocal},
    {"docker|podman|systemctl|service|terraform|tofu|pulumi|vagrant", kUnknown},

    // Programs that run programs. With --version alone they only tell it.
    {"sh|bash|dash|zsh|ksh|fish|python|python2|python3|node|deno|bun|perl|ruby|php|lua|tclsh|java|ghci|R|"
     "vi|vim|nvim|nano|emacs|awk|gawk|mawk|sed|gdb|lldb|strace|ltrace|parallel|at|batch|su|pkexec|expect|"
     "screen|tmux|script|osascript|dc|bc|openssl|gpg|xdg-open|open|busybox|sqlite3|top|htop|watch", kUnknown},
    {"node -v|npm -v|yarn -v|pnpm -v|python -V|python3 -V|ruby -v|perl -v|php -v|java -version|rustc -V|cargo -V", kRead},
};

constexpr GlobalOptions kGlobals[] = {
    {"git", "-C --git-dir --work-tree --namespace", "--no-pager -P --no-optional-locks --bare --literal-pathspecs"},
    {"docker", "-H --host --context -l --log-level", "-D --debug"},
    {"kubectl", "-n --namespace --context --kubeconfig --cluster --user", ""},
    {"gh", "-R --repo", ""},
    {"npm", "--prefix -C -w --workspace", "--silent -s"},
    {"cargo", "--color -Z", "-q --quiet -v --verbose --offline --locked --frozen"},
    {"systemctl", "-M --machine", "--user --system --no-pager -q --quiet"},
    {"pip", "", "-q --quiet -v --verbose"},
    {"pip3", "", "-q --quiet -v --verbose"},
    {"apt", "", "-y -q --quiet"},
    {"apt-get", "", "-y -q --quiet"},
};

constexpr Wrapper kWrappers[] = {
    {"nohup|setsid|chronic|builtin|command", ""},
    {"exec", "-a"},
    {"nice", "-n --adjustment"},
    {"ionice", "-c -n --class --classdata"},
    {"timeout", "-s -k --signal --kill-after", 1},
    {"stdbuf", "-i -o -e --input --output --error"},
    {"time", "-f --format -o --output", 0, kLocal},
    {"taskset|chrt", "", 1},
    {"flock", "-w --timeout -E", 1, kLocal},
    {"xargs", "-a -d -E -I -L -n -P -s --arg-file --delimiter --eof --replace --max-lines --max-args --max-procs "
              "--max-chars --process-slot-var"},
    {"env", "-u -C --unset --chdir"},
    {"sudo", "-u -g -p -C -h -r -t -T -U -D -R --user --group --prompt --host --chdir --chroot", 0, kUnknown},
    {"doas", "-u -C", 0, kUnknown},
};
// clang-format on

}  // namespace

std::span<const CommandRow> CommandRows() { return kRows; }
std::span<const GlobalOptions> AllGlobalOptions() { return kGlobals; }
std::span<const Wrapper> Wrappers() { return kWrappers; }

}  // namespace cordon::guard
