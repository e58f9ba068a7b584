"""Reads a Seatbelt profile and answers what macOS would: may this operation be
done to that subject?

No Mac is needed, and none was: this is the language as its users describe it.
The last rule that matches decides. Some have seen a rule that names one
operation win over one that names its group, whatever their order; a profile
whose answer depends on which of the two holds is an error here (Ambiguous).
Whatever is not known here (a form, an operation, a filter) is an error too, as
a profile that macOS does not understand is refused as a whole.
"""

import dataclasses
import re


class ProfileError(Exception):
    pass


class Ambiguous(ProfileError):
    pass


class Symbol(str):
    pass


@dataclasses.dataclass(frozen=True)
class RawString:
    """#"...": backslashes are themselves."""
    text: str


# --- the reader --------------------------------------------------------------

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


def read(text):
    """The forms of `text`: lists of Symbol, str, RawString and int."""
    forms, at = [], skip_blank(text, 0)
    while at < len(text):
        form, at = read_form(text, at)
        forms.append(form)
        at = skip_blank(text, at)
    return forms


def skip_blank(text, at):
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == ";":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            break
    return at


def read_form(text, at):
    if text[at] == "(":
        items, at = [], skip_blank(text, at + 1)
        while at < len(text) and text[at] != ")":
            item, at = read_form(text, at)
            items.append(item)
            at = skip_blank(text, at)
        if at >= len(text):
            raise ProfileError("a list is not closed")
        return items, at + 1
    if text[at] == ")":
        raise ProfileError("a bracket too many")
    if text[at] == '"':
        return read_string(text, at + 1)
    if text.startswith('#"', at):
        end = text.find('"', at + 2)
        if end < 0:
            raise ProfileError("a string is not closed")
        return RawString(text[at + 2:end]), end + 1
    match = re.compile(r"[^\s()\";]+").match(text, at)
    word = match.group()
    return (int(word) if re.fullmatch(r"-?\d+", word) else Symbol(word)), match.end()


def read_string(text, at):
    value = ""
    while at < len(text):
        c = text[at]
        if c == '"':
            return value, at + 1
        if c == "\\":
            at += 1
            if text[at:at + 1] not in ESCAPES:
                raise ProfileError(f"an unknown escape: \\{text[at:at + 1]}")
            c = ESCAPES[text[at]]
        value += c
        at += 1
    raise ProfileError("a string is not closed")


# --- what is known of the language -------------------------------------------

OPERATIONS = set("""
    appleevent-send default file-clone file-ioctl file-link file-map-executable
    file-read-data file-read-metadata file-read-xattr file-write-create file-write-data
    file-write-flags file-write-mode file-write-owner file-write-times file-write-unlink
    file-write-xattr iokit-get-properties iokit-open ipc-posix-sem ipc-posix-shm-read-data
    ipc-posix-shm-write-data job-creation lsopen mach-lookup mach-register network-bind
    network-inbound network-outbound nvram-get nvram-set process-exec process-exec-interpreter
    process-fork process-info-codesignature process-info-listpids process-info-pidinfo
    pseudo-tty signal sysctl-read sysctl-write system-socket user-preference-read
""".split())
GROUPS = {"file*", "file-read*", "file-write*", "process-exec*", "process-info*", "network*",
          "nvram*", "sysctl*"}


def covers(named, operation):
    """How closely the name in a rule fits the operation: 0 not at all."""
    if named == operation:
        return 100
    if named == "default":
        return 1
    if named.endswith("*") and operation.startswith(named[:-1]):
        return len(named)
    return 0


# --- subjects ----------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Subject:
    """What an operation is done to; a filter looks at the part it knows."""
    path: str = None          # canonical
    remote: tuple = None      # ("ip", host, port) or ("unix-socket", path)
    local: tuple = None
    name: str = None          # of a service, a kernel variable, a semaphore
    target: str = None        # "self", "same-sandbox", "others"
    extensions: tuple = ()


def is_inside(path, root):
    return root == "/" or path == root or path.startswith(root + "/")


class Profile:
    def __init__(self, text, parameters=None):
        self.parameters = parameters or {}
        self.used = set()
        self.rules = []  # (allow, {operations}, filter)
        forms = read(text)
        if not forms or forms[0] != [Symbol("version"), 1]:
            raise ProfileError("a profile begins with (version 1)")
        for form in forms[1:]:
            self._add(form)
        if not any("default" in operations for _, operations, _ in self.rules):
            raise ProfileError("there is no default")

    def _add(self, form):
        if not isinstance(form, list) or form[:1] not in ([Symbol("allow")], [Symbol("deny")]):
            raise ProfileError(f"not a rule: {form}")
        operations = [item for item in form[1:] if isinstance(item, Symbol)]
        filters = [item for item in form[1:] if isinstance(item, list)]
        if len(operations) + len(filters) != len(form) - 1 or not operations:
            raise ProfileError(f"not a rule: {form}")
        for operation in operations:
            if operation not in OPERATIONS | GROUPS:
                raise ProfileError(f"unknown operation {operation}")
        tests = [self._filter(item) for item in filters]
        matches = (lambda subject: any(t(subject) for t in tests)) if tests else (lambda _: True)
        self.rules.append((form[0] == "allow", frozenset(operations), matches))

    def _text(self, form):
        if isinstance(form, RawString):
            return form.text
        if isinstance(form, str) and not isinstance(form, Symbol):
            return form
        if isinstance(form, list) and form and form[0] == "param" and len(form) == 2:
            name = self._text(form[1])
            if name not in self.parameters:
                raise ProfileError(f"no parameter {name}")
            self.used.add(name)
            return self.parameters[name]
        if isinstance(form, list) and form and form[0] == "string-append":
            return "".join(self._text(part) for part in form[1:])
        raise ProfileError(f"not a text: {form}")

    def _filter(self, form):
        if not form or not isinstance(form[0], Symbol):
            raise ProfileError(f"not a filter: {form}")
        kind, arguments = str(form[0]), form[1:]
        if kind in ("require-all", "require-any", "require-not"):
            tests = [self._filter(item) for item in arguments]
            if kind == "require-not":
                return lambda s: not tests[0](s)
            every = all if kind == "require-all" else any
            return lambda s: every(t(s) for t in tests)
        if kind in ("remote", "local"):
            return self._endpoint(kind, arguments)
        if kind == "target":
            return lambda s: s.target is not None and (
                s.target == arguments[0] or (arguments[0] == "same-sandbox" and s.target == "self"))
        if len(arguments) != 1:
            raise ProfileError(f"one argument: {form}")
        return self._simple(kind, self._text(arguments[0]))

    def _simple(self, kind, text):
        if kind in ("literal", "subpath") and not text.startswith("/"):
            raise ProfileError(f"not an absolute path: {text!r}")
        if kind == "subpath" and text != "/" and text.endswith("/"):
            raise ProfileError(f"a subpath with a slash at its end: {text!r}")
        if kind == "literal":
            return lambda s: s.path == text
        if kind == "subpath":
            return lambda s: s.path is not None and is_inside(s.path, text)
        if kind == "regex":
            pattern = re.compile(text, re.DOTALL)
            return lambda s: s.path is not None and pattern.search(s.path) is not None
        if kind in ("global-name", "sysctl-name", "ipc-posix-name"):
            return lambda s: s.name == text
        if kind == "sysctl-name-prefix":
            return lambda s: s.name is not None and s.name.startswith(text)
        if kind == "extension":
            return lambda s: text in s.extensions
        raise ProfileError(f"unknown filter {kind}")

    def _endpoint(self, side, arguments):
        if not arguments:
            raise ProfileError(f"({side}) of what?")
        kind = str(arguments[0])
        if kind == "unix-socket":
            return self._unix(side, arguments[1:])
        if kind not in ("ip", "tcp", "udp"):
            raise ProfileError(f"unknown kind of endpoint {kind}")
        host, _, port = self._text(arguments[1]).rpartition(":") if arguments[1:] else ("*", "", "*")
        if host not in ("*", "localhost"):
            raise ProfileError(f"a host is * or localhost, not {host}")
        if port != "*" and not 0 < int(port) < 65536:
            raise ProfileError(f"not a port: {port}")

        def matches(subject):
            end = getattr(subject, side)
            return (end is not None and end[0] == "ip" and host in ("*", end[1])
                    and port in ("*", str(end[2])))
        return matches

    def _unix(self, side, arguments):
        if not arguments:
            def test(_path): return True
        else:
            kind, text = str(arguments[0][0]), self._text(arguments[0][1])
            if kind not in ("path-literal", "subpath"):
                raise ProfileError(f"unknown filter of a socket: {kind}")
            def test(path): return path == text if kind == "path-literal" else is_inside(path, text)

        def matches(subject):
            end = getattr(subject, side)
            return end is not None and end[0] == "unix-socket" and test(end[1])
        return matches

    def allows(self, operation, subject=Subject()):
        """True or False; Ambiguous where that depends on an open question."""
        if operation not in OPERATIONS:
            raise ProfileError(f"unknown operation {operation}")
        last, closest, fit = None, None, 0
        for allow, operations, matches in self.rules:
            best = max(covers(named, operation) for named in operations)
            if best == 0 or not matches(subject):
                continue
            last = allow
            if best >= fit:
                closest, fit = allow, best
        if last != closest:
            raise Ambiguous(f"{operation} of {subject}")
        return last
