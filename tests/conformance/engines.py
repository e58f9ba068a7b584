"""How crun and runc are started here, and what they leave is removed."""

import os
import shutil
import subprocess
import uuid


def cgroup_is_unified():
    """Debian 12's crun refuses version 1 hierarchies, and those beside a version 2 one."""
    return os.path.exists("/sys/fs/cgroup/cgroup.controllers")


def unified_prefix():
    """Words that give what follows a /sys/fs/cgroup that crun takes."""
    if cgroup_is_unified():
        return []
    show = 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
    flags = ["-m"] if os.geteuid() == 0 else ["-UmC", "--map-current-user", "--keep-caps"]
    return ["unshare", *flags, "sh", "-c", show, "sh"]


def available(engine):
    """None, or why the engine cannot be used here."""
    if shutil.which(engine) is None:
        return f"{engine} is not installed"
    if engine == "runc" and os.geteuid() != 0:
        return "runc without root maps only uid 0"
    return None


def run(engine, bundle, state, **options):
    """Runs the bundle to its end; `state` is a directory for the engine's own."""
    name = f"cordon-{uuid.uuid4().hex[:12]}"
    if engine == "crun":
        words = [*unified_prefix(), "crun", "--root", str(state), "--cgroup-manager=disabled"]
    else:
        words = ["runc", "--root", str(state)]
    return subprocess.run([*words, "run", "--bundle", str(bundle), name], **options)


def remove(path):
    """A tree with closed directories in it; never across a mount."""
    device = os.lstat(path).st_dev
    for root, directories, _ in os.walk(path):
        for name in directories:
            directory = os.path.join(root, name)
            status = os.lstat(directory)
            assert status.st_dev == device and not os.path.ismount(directory), directory
            if not os.path.islink(directory):
                os.chmod(directory, 0o700)
    shutil.rmtree(path)
