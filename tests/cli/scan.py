#!/usr/bin/python3
"""`cordon scan` against CORDON_BIN: tokens of many kinds in many encodings, what is none, files,
folders, .gitignore, baselines, rule files, known secrets, redaction, JSON and SARIF."""
import base64
import json
import os
import random
import re
import string
import subprocess
import sys
import tempfile

BIN = os.path.abspath(os.environ["CORDON_BIN"])
RANDOM = random.Random(5)
ALNUM = string.ascii_letters + string.digits


def some(count, letters=ALNUM):
    return "".join(RANDOM.choice(letters) for _ in range(count))


def hexes(count):
    return some(count, "0123456789abcdef")


def digits(count):
    return some(count, "123456789")


# Made here, so that the tree holds nothing that looks like a token.
TOKENS = {
    "anthropic": lambda: "sk-" + "ant-api03-" + some(93) + "AA",
    "openai": lambda: "sk-" + "proj-" + some(58) + "T3Blbk" + "FJ" + some(58),
    "openrouter": lambda: "sk-" + "or-v1-" + hexes(64),
    "github": lambda: "gh" + "p_" + some(36), "github-oauth": lambda: "gh" + "o_" + some(36),
    "github-fine": lambda: "github" + "_pat_" + some(22) + "_" + some(59),
    "gitlab": lambda: "gl" + "pat-" + some(20), "npm": lambda: "np" + "m_" + some(36),
    "aws-id": lambda: "AK" + "IA" + some(16, string.ascii_uppercase + "234567"),
    "aws-secret": lambda: "aws_secret_access_key = " + some(40, ALNUM + "/+"),
    "google": lambda: "AI" + "za" + some(35), "slack-bot": lambda:
    f"xo{'xb'}-{digits(12)}-{digits(12)}-{some(24)}", "stripe": lambda: "sk_" + "live_" + some(24),
    "twilio": lambda: "S" + "K" + hexes(32), "sendgrid": lambda: f"S{'G'}.{some(22)}.{some(43)}",
    "telegram": lambda: f"{digits(10)}:A{'A'}{some(33)}", "hugging": lambda: "h" + "f_" + some(34),
    "discord": lambda: f"M{some(23)}.{some(6)}.{some(27)}",
    "jwt": lambda: f"ey{'J'}hbGciOiJIUzI1NiJ9.ey{'J'}zdWIiOiJ{some(20)}.{some(43)}",
    "digitalocean": lambda: "do" + "p_v1_" + hexes(64), "vault": lambda: "hv" + "s." + some(90),
    "shopify": lambda: "shp" + "at_" + hexes(32), "databricks": lambda: "da" + "pi" + hexes(32),
    "url": lambda: f"postgres://svc:{some(20)}@db.test:5432/x",
    "pem": lambda: f"-----BEGIN EC {'PRIVATE'} KEY-----\n{some(64)}\n{some(64)}\n"
                   f"-----END EC {'PRIVATE'} KEY-----",
    "generic": lambda: f'client_secret = "{some(40)}"',
}
ENCODINGS = {
    "plain": lambda b: b, "json": lambda b: json.dumps({"k": b.decode()}).encode(),
    "url": lambda b: "".join(f"%{c:02X}" for c in b).encode(),
    "url twice": lambda b: "".join(f"%25{c:02x}" for c in b).encode(),
    "base64": base64.b64encode, "base64 url": lambda b: base64.urlsafe_b64encode(b).rstrip(b"="),
    "base64 shifted": lambda b: base64.b64encode(b"x" + b),
    "base64 shifted twice": lambda b: base64.b64encode(b"xy" + b),
    "base64 in lines": base64.encodebytes, "base64 of base64": lambda b:
    base64.b64encode(base64.b64encode(b)), "hex": lambda b: b.hex().encode(),
    "HEX": lambda b: b.hex().upper().encode(), "hex with colons": lambda b: b.hex(":").encode(),
    "hex with spaces": lambda b: b.hex(" ").encode(),
    "escapes": lambda b: "".join(f"\\x{c:02x}" for c in b).encode(),
    "unicode escapes": lambda b: "".join(f"\\u{c:04x}" for c in b).encode(),
    "C array": lambda b: ", ".join(f"0x{c:02x}" for c in b).encode(),
    "utf-16": lambda b: b.decode().encode("utf-16-le"),
    "in a line": lambda b: b"one\r\nTOKEN=" + b + b"\r\n",
}
CLEAN = ["AKIAIOSFODNN7EXAMPLE", "sk-" + "x" * 24, "ghp_" + "0" * 36, "xoxb-your-token-here",
         "git commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "password = os.environ['PASSWORD']",
         "api_key: ${API_KEY}", "token = get_token()", "https://user:password@example.com/",
         "0xeae87185a8367253f47d17d02553bfe3896d5d5f5917fad0f716dad44e02e262",
         'ETag: "ca81e39386e2a84f10e1ee64b119ca7a"', "A" * 512, "1234567890" * 40, "eyJ is a prefix",
         "-----BEGIN PUBLIC KEY-----\n" + "q3" * 32 + "\n-----END PUBLIC KEY-----"]


def scan(*words, cwd, stdin=b"", env=None):
    return subprocess.run([BIN, "scan", *words], cwd=cwd, capture_output=True, timeout=120,
                          check=False, input=stdin, env={**os.environ, **(env or {})})


def write(cwd, name, text):
    path = os.path.join(cwd, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode())
    return name


def found(done):
    return json.loads(done.stdout)["findings"]


def check_encodings(cwd):
    made = {}
    for kind, make in TOKENS.items():
        for name, encode in ENCODINGS.items():
            secret = make()
            made[write(cwd, f"{kind}/{name}.txt", encode(secret.encode()))] = secret
    done = scan("--json", ".", cwd=cwd)
    seen = {os.path.normpath(f["path"]) for f in found(done)}
    missed = sorted(set(made) - seen)
    assert done.returncode == 1 and not missed, missed
    text = done.stdout.decode()
    assert not any(s.split()[-1] in text for s in made.values()), "a report holds a secret"


def check_clean(cwd):
    for i, text in enumerate(CLEAN):
        write(cwd, f"{i}.txt", text)
    done = scan("--json", cwd=cwd)
    assert done.returncode == 0 and not found(done), done
    assert json.loads(done.stdout)["files"] == len(CLEAN)


def check_folders(cwd):
    token = TOKENS["github"]()
    for name in ("a.txt", "sub/b.txt", "skipped/c.txt", "d.log", "sub/keep.log", ".git/e.txt"):
        write(cwd, name, f"x {token}\n")
    write(cwd, "binary", b"\0\1\2\3" * 100 + token.encode())
    write(cwd, ".gitignore", "skipped/\n*.log\n")
    write(cwd, "sub/.gitignore", "!keep.log\n")
    os.symlink("a.txt", os.path.join(cwd, "link"))
    paths = [os.path.normpath(f["path"]) for f in found(scan("--json", ".", cwd=cwd))]
    assert paths == ["a.txt", "sub/b.txt", "sub/keep.log"], paths
    paths = {f["path"] for f in found(scan("--json", "--no-ignore", ".", cwd=cwd))}
    assert {"d.log", "skipped/c.txt"} <= {os.path.normpath(p) for p in paths}, paths
    assert len(found(scan("--json", "binary", "a.txt", cwd=cwd))) == 2
    told = scan("sub", cwd=cwd)
    assert told.returncode == 1 and token not in told.stdout.decode()
    assert re.match(r"sub/b\.txt:1:3: github-pat: .*ghp_…\[40\]", told.stdout.decode()), told
    assert scan("nowhere", cwd=cwd).returncode == 2
    assert scan("-", "a.txt", cwd=cwd).returncode == 2


def check_baseline(cwd):
    token = TOKENS["github"]()
    write(cwd, "old.txt", f"x {token}\n")
    assert scan("--write-baseline", "base.json", ".", cwd=cwd).returncode == 0
    assert token not in open(os.path.join(cwd, "base.json"), encoding="utf-8").read()
    write(cwd, "old.txt", f"\n\nmoved {token}\n")
    assert scan("--baseline", "base.json", ".", cwd=cwd).returncode == 0
    write(cwd, "new.txt", TOKENS["github"]())
    done = scan("--baseline", "base.json", "--json", ".", cwd=cwd)
    assert done.returncode == 1 and [f["path"] for f in found(done)] == ["new.txt"], done
    assert json.loads(done.stdout)["known_before"] == 1
    assert scan("--baseline", "old.txt", ".", cwd=cwd).returncode == 2


def check_allowed(cwd):
    token = TOKENS["github"]()
    write(cwd, "a.txt", f"{token} # cordon:allow\n")
    assert scan("a.txt", cwd=cwd).returncode == 0
    assert scan("--no-inline-allow", "a.txt", cwd=cwd).returncode == 1
    assert scan("--no-inline-allow", "--allow", "^ghp_", "a.txt", cwd=cwd).returncode == 0
    assert scan("--no-inline-allow", "--disable", "github-pat", "a.txt", cwd=cwd).returncode == 0


def check_rules(cwd):
    rule = ("[[rules]]\nid = 'acme'\ndescription = 'Acme'\nregex = '''acme-([a-z0-9]{8})'''\n"
            "keywords = ['acme-']\n")
    write(cwd, "r.toml", rule)
    write(cwd, "both.txt", f"acme-abc12345 {TOKENS['github']()}\n")
    rules = [f["rule"] for f in found(scan("--json", "--rules", "r.toml", "both.txt", cwd=cwd))]
    assert rules == ["acme", "github-pat"], rules
    done = scan("--json", "--no-default-rules", "--rules", "r.toml", "both.txt", cwd=cwd)
    assert [f["rule"] for f in found(done)] == ["acme"], done
    write(cwd, "bad.toml", "[[rules]]\nid = 'broken'\nregex = '''(x'''\n")
    done = scan("--rules", "bad.toml", ".", cwd=cwd)
    assert done.returncode == 2 and b"bad.toml: rule broken:" in done.stderr, done


def check_known(cwd):
    secret = "not&a%token form"
    for name, encode in ENCODINGS.items():
        text = encode(secret.encode())
        done = scan("--json", "--known-env", "MINE", "-", cwd=cwd, stdin=text, env={"MINE": secret})
        assert done.returncode == 1 and found(done)[0]["rule"] == "known:MINE", (name, done)
        assert scan("-", cwd=cwd, stdin=text).returncode == 0, name
    write(cwd, "creds", f"# mine\nuser=me\npassword={secret}\n")
    done = scan("--json", "--known-file", "creds", "-", cwd=cwd, stdin=secret.encode())
    assert found(done)[0]["rule"] == "known:creds" and secret.encode() not in done.stdout, done
    assert scan("--known-env", "NOT_SET_HERE", "-", cwd=cwd).returncode == 2


def check_redact(cwd):
    token = TOKENS["anthropic"]()
    text = f"one {token}\ntwo\n".encode()
    done = scan("--redact", cwd=cwd, stdin=text)
    assert done.stdout == b"one [REDACTED:anthropic]\ntwo\n" and done.returncode == 1, done
    plain = b"nothing here\n" + bytes(range(256)) * 2000
    done = scan("--redact", cwd=cwd, stdin=plain)
    assert done.stdout == plain and done.returncode == 0, len(done.stdout)
    # A secret in two writes: nothing of it comes out in between.
    with subprocess.Popen([BIN, "scan", "--redact"], cwd=cwd, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as redact:
        redact.stdin.write(b"a line\nand " + token[:30].encode())
        redact.stdin.flush()
        first = os.read(redact.stdout.fileno(), 4096)
        redact.stdin.write(token[30:].encode() + b" end\n")
        redact.stdin.close()
        rest = redact.stdout.read()
    assert first == b"a line\nand ", first
    assert rest == b"[REDACTED:anthropic] end\n", rest


def check_sarif(cwd):
    write(cwd, "a.txt", f"\n x {TOKENS['github']()}\n")
    run = json.loads(scan("--sarif", "a.txt", cwd=cwd).stdout)["runs"][0]
    assert run["tool"]["driver"]["rules"][0]["id"] == "github-pat", run
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a.txt" and place["region"]["startLine"] == 2, place


def main():
    for check in (check_encodings, check_clean, check_folders, check_baseline, check_allowed,
                  check_rules, check_known, check_redact, check_sarif):
        with tempfile.TemporaryDirectory(prefix="cordon-scan-", dir="/var/tmp") as cwd:
            check(cwd)
    print(f"scan: {len(TOKENS) * len(ENCODINGS)} encoded tokens and the rest")
    return 0


if __name__ == "__main__":
    sys.exit(main())
