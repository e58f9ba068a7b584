#!/usr/bin/python3
"""`cordon mcp` by raw JSON-RPC: the protocol's rules, and all that a client may do
wrong. Whatever comes, the server answers or ends cleanly, and nothing stays."""
import atexit
import http.client
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import BIN, Client, expect  # noqa: E402
from contained import case, main  # noqa: E402


def processes_with(marker):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if marker.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def gone(marker, seconds=20):
    until = time.monotonic() + seconds
    while processes_with(marker):
        expect(time.monotonic() < until, f"left behind: {processes_with(marker)}")
        time.sleep(0.05)


@case
def versions_are_negotiated(at):
    for wanted, got in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"),
                        ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
        client = Client(at, initialize=False)
        answer = client.request("initialize", {"protocolVersion": wanted, "capabilities": {}})
        expect(answer["result"]["protocolVersion"] == got, answer)
        expect(answer["result"]["serverInfo"]["name"] == "cordon", answer)
        client.notify("notifications/initialized")
        result = client.call("shell", {"command": "echo hi"})
        expect(("structuredContent" in result) == (got >= "2025-06-18"), result)
        expect(client.close() == 0, "status")


@case
def nothing_before_initialize(at):
    client = Client(at, initialize=False)
    expect(client.request("ping")["result"] == {}, "ping")
    for method in ("tools/list", "tools/call", "resources/list"):
        expect(client.request(method, {"name": "shell"})["error"]["code"] == -32600, method)
    expect(client.request("initialize", {})["error"]["code"] == -32602, "no version")
    client.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
    expect("error" in client.request("initialize", {"protocolVersion": "2025-06-18"}), "twice")
    expect("tools" in client.request("tools/list")["result"], "tools/list")
    expect(client.close() == 0, "status")


@case
def tools_have_schemas_and_annotations(at):
    client = Client(at)
    tools = {t["name"]: t for t in client.request("tools/list")["result"]["tools"]}
    expect({"shell", "exec", "read_file", "write_file", "edit_file", "list_dir", "glob", "grep", "stat",
            "fetch_url", "shell_output", "shell_kill"} == set(tools), sorted(tools))
    for tool in tools.values():
        expect(tool["inputSchema"]["type"] == "object" and tool["description"], tool)
        expect(isinstance(tool["annotations"]["readOnlyHint"], bool), tool)
    expect(tools["read_file"]["annotations"]["readOnlyHint"], tools["read_file"])
    expect(not tools["shell"]["annotations"]["readOnlyHint"], tools["shell"])
    client.close()
    client = Client(at, "--role", "chat", "--tools", "send_file,read_file")
    names = [t["name"] for t in client.request("tools/list")["result"]["tools"]]
    expect(sorted(names) == ["read_file", "send_file"], names)
    answer = client.request("tools/call", {"name": "shell", "arguments": {"command": "true"}})
    expect(answer["error"]["code"] == -32602, answer)
    client.close()
    done = subprocess.run([BIN, "mcp", "--allow-root", "--tools", "shel"], cwd=at.ws, env=at.env, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    expect(done.returncode == 2 and "did you mean" in done.stderr and not done.stdout, "--tools", done)


@case
def a_call_has_text_and_structure(at):
    client = Client(at)
    result = client.call("shell", {"command": "echo hi; exit 4"})
    expect(result["structuredContent"]["exit_code"] == 4, result)
    expect(result["content"] == [{"type": "text", "text": "[exit code 4]\n[stdout]\nhi\n"}], result)
    at.outside_sh("mkdir -p ../home/.ssh; echo key > ../home/.ssh/id")
    result = client.call("read_file", {"path": "~/.ssh/id"}, ok=False)
    expect("<sandbox_violations>" in result["content"][0]["text"], result)
    expect(result["structuredContent"]["violations"][0]["reason"] == "read_denied", result)
    logged = [m for m in client.seen if m.get("method") == "notifications/message"]
    expect(logged and logged[0]["params"]["data"]["tool"] == "read_file", client.seen)
    client.request("logging/setLevel", {"level": "error"})
    client.seen.clear()
    client.call("read_file", {"path": "~/.ssh/id"}, ok=False)
    expect(not client.seen, "a warning at level error")
    expect("error" in client.request("logging/setLevel", {"level": "loud"}), "a bad level")
    expect(client.close() == 0, "status")


@case
def resources_and_prompts(at):
    log = at.top + "/audit.jsonl"
    client = Client(at, "--audit", log)
    uris = [r["uri"] for r in client.request("resources/list")["result"]["resources"]]
    expect(uris == ["cordon://policy", "cordon://audit"], uris)
    policy = client.request("resources/read", {"uri": "cordon://policy"})["result"]["contents"][0]
    expect("[fs]" in policy["text"] and policy["mimeType"] == "application/toml", policy)
    client.call("shell", {"command": "true"})
    client.call("shell", {"command": "true"})
    tail = client.request("resources/read", {"uri": "cordon://audit"})["result"]["contents"][0]["text"]
    events = [json.loads(line) for line in tail.splitlines()]
    starts = [e["run"] for e in events if e["kind"] == "run.start"]
    expect(len(set(starts)) == 2, tail)
    expect(client.request("resources/read", {"uri": "file:///etc/passwd"})["error"]["code"] == -32002, "")
    prompts = client.request("prompts/list")["result"]["prompts"]
    expect([p["name"] for p in prompts] == ["constraints"], prompts)
    text = client.request("prompts/get", {"name": "constraints"})["result"]["messages"][0]
    expect(at.ws in text["content"]["text"] and client.hello["instructions"] == text["content"]["text"], text)
    expect("error" in client.request("prompts/get", {"name": "x"}), "a prompt that is none")
    client.close()
    client = Client(at, "--mode", "rwx")
    expect("instructions" not in client.hello, client.hello)
    expect(client.request("prompts/list")["result"]["prompts"] == [], "rwx has no constraints")
    client.close()


@case
def broken_messages_are_answered(at):
    client = Client(at)
    for data, code in (("nonsense\n", -32700), ("{\"jsonrpc\": \"2.0\"\n", -32700), ("[]\n", -32600),
                       ("17\n", -32600), ("{}\n", -32600), (b"\xff\xfe\x00\n", -32700),
                       ("[" * 100000 + "\n", -32700),
                       ('{"jsonrpc":"2.0","id":1,"method":"no/such"}\n', -32601),
                       ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}\n', -32602),
                       ('{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600)):
        client.raw(data)
        answer = client.next()
        expect(answer["error"]["code"] == code, f"{data[:60]}: {answer}")
    client.raw("\n\n  \n")
    client.send({"jsonrpc": "2.0", "id": "nobody-asked", "result": {}})
    client.send({"jsonrpc": "2.0", "id": 5})
    client.notify("notifications/cancelled", {"requestId": 12345})
    client.notify("no/such")
    for part in ('{"jsonrpc":"2.0",', '"id":"half","met', 'hod":"ping"}', "\r\n"):
        client.raw(part)
        time.sleep(0.05)
    expect(client.answer("half")["result"] == {}, "half lines")
    expect(client.seen == [], client.seen)
    answer = client.request("tools/call", {"name": "shell", "arguments": {"command": 5}})
    expect(answer["result"]["isError"], answer)
    answer = client.request("tools/call", {"name": "shell", "arguments": []})
    expect(answer["result"]["isError"], answer)
    expect("error" in client.request("tools/call", {}), "no name")
    expect("error" in client.request("tools/list", {"cursor": "x"}), "a cursor that is none")
    expect(client.close() == 0, "status")


@case
def a_huge_line_is_passed_over(at):
    client = Client(at)
    for _ in range(40):
        client.raw(b"x" * (1 << 20))
    client.raw("\n")
    expect(client.next()["error"]["code"] == -32600, "a huge line")
    content = "y" * (4 << 20)
    client.call("write_file", {"path": "big", "content": content})
    expect(len(at.read("big")) == 4 << 20, "a large message")
    expect(client.close() == 0, "status")


@case
def many_requests_at_once(at):
    client = Client(at)
    numbers = [client.begin("tools/call", {"name": "shell", "arguments": {"command": f"sleep 0.2; echo {n}"}})
               for n in range(300)]
    busy = done = 0
    for n, number in enumerate(numbers):
        answer = client.answer(number, timeout=120)
        if "error" in answer:
            expect(answer["error"]["code"] == -32000, answer)
            busy += 1
        else:
            text = answer["result"]["structuredContent"]["stdout"]["text"]
            expect(text == f"{n}\n", answer)
            done += 1
    expect(done >= 32 and busy + done == 300, f"{done} done, {busy} refused")
    client.call("shell", {"command": "true"})
    expect(client.close() == 0, "status")


@case
def calls_run_side_by_side(at):
    client = Client(at)
    os.mkfifo(at.path("gate"))
    slow = client.begin("tools/call", {"name": "shell", "arguments": {"command": "cat gate"}})
    client.call("shell", {"command": "echo open > gate"})
    answer = client.answer(slow)["result"]["structuredContent"]
    expect(answer["stdout"]["text"] == "open\n", answer)
    client.close()


@case
def a_call_can_be_cancelled(at):
    client = Client(at)
    marker = "cancel-" + os.path.basename(at.top)
    number = client.begin("tools/call",
                          {"name": "shell", "arguments": {"command": f"touch began; sleep 7777 # {marker}"}})
    until = time.monotonic() + 30
    while not os.path.exists(at.path("began")):
        expect(time.monotonic() < until, "it did not start")
        time.sleep(0.02)
    client.send({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                 "params": {"name": "shell", "arguments": {"command": "true"}}})
    expect(client.next()["error"]["code"] == -32600, "an id twice")
    client.notify("notifications/cancelled", {"requestId": number, "reason": "enough"})
    gone(marker)
    client.request("ping")
    expect(not client.seen, f"a cancelled request was answered: {client.seen}")
    client.call("shell", {"command": "true"})
    expect(client.close() == 0, "status")


@case
def long_calls_tell_of_progress(at):
    client = Client(at)
    client.call("shell", {"command": "for i in 1 2 3 4; do echo step $i; sleep 0.8; done"}, progressToken="p")
    news = [m["params"] for m in client.seen if m.get("method") == "notifications/progress"]
    expect(len(news) >= 2 and all(n["progressToken"] == "p" for n in news), client.seen)
    steps = [n["progress"] for n in news]
    expect(steps == sorted(set(steps)) and "step" in news[0]["message"], news)
    client.close()


@case
def background_commands(at):
    client = Client(at)
    started = client.call("shell", {"command": "echo one; cat gate; echo two >&2; exit 7", "background": True})
    job = started["structuredContent"]["id"]
    os.mkfifo(at.path("gate"))
    until = time.monotonic() + 30
    while True:
        poll = client.call("shell_output", {"id": job})["structuredContent"]
        if poll["text"] == "one\n" or time.monotonic() > until:
            break
        time.sleep(0.05)
    expect(poll["kind"] == "running" and poll["next_offset"] == 4, poll)
    if not os.path.exists(at.path("gate")):
        return
    client.call("shell", {"command": "echo middle > gate"})
    poll = client.call("shell_output", {"id": job, "offset": 4, "wait": 60})["structuredContent"]
    expect(poll["kind"] == "exited" and poll["exit_code"] == 7 and poll["text"] == "middle\n", poll)
    poll = client.call("shell_output", {"id": job, "stream": "stderr"})["structuredContent"]
    expect(poll["text"] == "two\n", poll)
    marker = "left-" + os.path.basename(at.top)
    job = client.call("shell", {"command": f"sleep 7777 # {marker}", "background": True})["structuredContent"]["id"]
    listed = client.call("shell_output", {})["structuredContent"]["commands"]
    expect([c["kind"] for c in listed if c["id"] == job] == ["running"], listed)
    client.call("shell_kill", {"id": job})
    gone(marker)
    client.call("shell_kill", {"id": "c999"}, ok=False)
    client.call("shell", {"command": f"sleep 7777 # {marker}", "background": True})
    expect(client.close() == 0, "status")
    gone(marker)


@case
def a_cut_output_can_be_had_whole(at):
    client = Client(at)
    result = client.call("shell", {"command": "seq 1 30000"})
    job = result["structuredContent"]["id"]
    expect(f'shell_output with id "{job}"' in result["content"][0]["text"], "where the whole is")
    text, offset = "", 0
    while True:
        part = client.call("shell_output", {"id": job, "offset": offset})["structuredContent"]
        if not part["text"]:
            break
        text, offset = text + part["text"], part["next_offset"]
    expect(text == "".join(f"{n}\n" for n in range(1, 30001)), "the whole output")
    client.close()


@case
def nothing_stays_however_it_ends(at):
    marker = "end-" + os.path.basename(at.top)
    for how in ("close", "term", "kill"):
        client = Client(at)
        client.call("shell", {"command": f"sleep 7777 # {marker}", "background": True})
        client.begin("tools/call", {"name": "shell", "arguments": {"command": f"touch {how}; sleep 7777 # {marker}"}})
        until = time.monotonic() + 30
        while not os.path.exists(at.path(how)):
            expect(time.monotonic() < until, "it did not start")
            time.sleep(0.02)
        if how == "term":
            client.process.send_signal(signal.SIGTERM)
        elif how == "kill":
            client.process.kill()
        else:
            client.process.stdin.close()
        status = client.process.wait(30)
        expect(status == (-9 if how == "kill" else 0), f"{how}: status {status}")
        gone(marker)


@case
def a_client_that_stops_reading_is_left(at):
    marker = "deaf-" + os.path.basename(at.top)
    for ending in ("output", "input"):
        server = subprocess.Popen([BIN, "mcp", "--allow-root"], cwd=at.ws, env=at.env, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

        def say(method, params, number):
            print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}),
                  file=server.stdin, flush=True)

        say("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}, 0)
        server.stdout.readline()
        slow = {"name": "shell", "arguments": {"command": f"sleep 7777 # {marker}", "background": True}}
        say("tools/call", slow, 1)
        server.stdout.readline()
        for number in range(2, 12):  # more than a pipe holds, and nobody reads it
            say("tools/call", {"name": "shell", "arguments": {"command": "seq 1 9000"}}, number)
        (server.stdout if ending == "output" else server.stdin).close()
        expect(server.wait(30) == 0, f"{ending}: status {server.returncode}")
        gone(marker)


@case
def approval_by_elicitation(at):
    client = Client(at, "--approve", "safe", capabilities={"elicitation": {}})

    def ask(decision, arguments):
        number = client.begin("tools/call", {"name": "write_file", "arguments": arguments})
        question = client.next()
        expect(question["method"] == "elicitation/create" and "write_file" in question["params"]["message"],
               question)
        client.call("read_file", {"path": "there"})  # others go on meanwhile
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": decision})
        return client.answer(number)["result"]

    at.write("there", "x")
    accept = {"action": "accept", "content": {"decision": "allow once"}}
    expect(not ask(accept, {"path": "a", "content": "1"})["isError"], "allowed")
    for no in ({"action": "decline"}, {"action": "cancel"}, {},
               {"action": "accept", "content": {"decision": "deny"}},
               {"action": "accept", "content": {"decision": "whatever"}}):
        result = ask(no, {"path": "b", "content": "1"})
        expect(result["isError"] and not os.path.exists(at.path("b")), f"{no}: {result}")
    accept["content"]["decision"] = "allow for this run"
    expect(not ask(accept, {"path": "c", "content": "1"})["isError"], "allowed")
    client.call("write_file", {"path": "d", "content": "1"})
    client.close()
    client = Client(at, "--approve", "safe")  # cannot be asked
    client.call("write_file", {"path": "e", "content": "1"}, ok=False)
    expect(not os.path.exists(at.path("e")), "written without approval")
    client.close()


class Http:
    def __init__(self, at, *flags, token="secret-token"):
        self.process = subprocess.Popen(
            [BIN, "mcp", "--allow-root", "--http", "0", *at.reads, *flags], cwd=at.ws,
            env=at.env | {"CORDON_MCP_TOKEN": token}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # also after a failure
        self.token, self.session = token, None
        for line in self.process.stderr:
            if "http://127.0.0.1:" in line:
                self.port = int(line.split(":")[3].split("/")[0])
                break

    def post(self, body, method="POST", path="/mcp", **headers):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                  "Authorization": "Bearer " + self.token}
        if self.session:
            fields["Mcp-Session-Id"] = self.session
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        link.request(method, path, body if isinstance(body, (str, bytes)) else json.dumps(body),
                     {name: value for name, value in fields.items() if value is not None})
        answer = link.getresponse()
        data = answer.read().decode()
        link.close()
        return answer, data

    def start(self):
        answer, data = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                                  "params": {"protocolVersion": "2025-06-18", "capabilities": {}}})
        expect(answer.status == 200 and json.loads(data)["result"], data)
        self.session = answer.getheader("Mcp-Session-Id")
        return self

    def stop(self):
        self.process.terminate()
        expect(self.process.wait(30) == 0, "status")


@case
def http_serves_with_a_token(at):
    server = Http(at)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    expect(server.post(hello, Authorization=None)[0].status == 401, "no token")
    expect(server.post(hello, Authorization="Bearer wrong")[0].status == 401, "a wrong token")
    expect(server.post(hello, Host="evil.example")[0].status == 403, "another host")
    expect(server.post(hello, Origin="https://evil.example")[0].status == 403, "another origin")
    expect(server.post(ping)[0].status == 400, "no session")
    server.start()
    expect(json.loads(server.post(ping)[1])["result"] == {}, "ping")
    expect(server.post(ping, Mcp_Session_Id="0123")[0].status == 404, "another session")
    expect(server.post(ping, path="/other")[0].status == 404, "another path")
    expect(server.post("", method="GET")[0].status == 405, "GET")
    expect(server.post(ping, Content_Type="text/plain")[0].status == 415, "another type")
    expect(server.post(ping, Mcp_Protocol_Version="1.0")[0].status == 400, "another version")
    expect(json.loads(server.post("nonsense")[1])["error"]["code"] == -32700, "nonsense")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    expect(server.post(note)[0].status == 202, "a notification")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "shell", "arguments": {"command": "echo hi"}}}
    expect(json.loads(server.post(call)[1])["result"]["structuredContent"]["exit_code"] == 0, "a call")
    call["params"] |= {"arguments": {"command": "echo hi; echo ho; sleep 4"}, "_meta": {"progressToken": 1}}
    answer, data = server.post(call)
    expect(answer.getheader("Content-Type") == "text/event-stream", f"{answer.headers} {data}")
    events = [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: ")]
    expect(events[0]["method"] == "notifications/progress" and events[-1]["result"], data)
    expect(server.post("", method="DELETE")[0].status == 204, "DELETE")
    expect(server.post(ping)[0].status == 404, "after DELETE")
    server.stop()
    expect(server.process.stdout.read() == "", "something on stdout")


@case
def http_ends_with_calls_under_way(at):
    marker = "http-" + os.path.basename(at.top)
    server = Http(at).start()
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "shell", "arguments": {"command": f"sleep 7777 # {marker}", "background": True}}}
    server.post(call)
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    link.request("POST", "/mcp", "x" * 10, {"Content-Length": "1000000"})  # half a request
    server.stop()
    gone(marker)


# The same server where no namespaces can be made.
@case
def by_landlock(at):
    at.outside_sh("mkdir -p ../home/.ssh; echo key > ../home/.ssh/id")
    client = Client(at, "--backend", "landlock")
    numbers = [client.begin("tools/call", {"name": "shell", "arguments": {"command": f"echo {n}"}})
               for n in range(10)]
    for n, number in enumerate(numbers):
        expect(client.answer(number)["result"]["structuredContent"]["stdout"]["text"] == f"{n}\n", n)
    answer = client.call("shell", {"command": "cat ~/.ssh/id"})["structuredContent"]
    expect(answer["exit_code"] != 0 and "key" not in answer["stdout"]["text"], answer)
    client.call("read_file", {"path": "~/.ssh/id"}, ok=False)
    marker = "landlock-" + os.path.basename(at.top)
    client.call("shell", {"command": f"sleep 7777 # {marker}", "background": True})
    client.call("write_file", {"path": "f", "content": "x"})
    expect(client.close() == 0 and "containment partial" in client.errors[0], client.errors)
    gone(marker)


@case
def root_must_say_so(at):
    if os.getuid() != 0:
        return
    done = subprocess.run([BIN, "mcp"], cwd=at.ws, env=at.env, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    expect(done.returncode == 2 and "--allow-root" in done.stderr and not done.stdout, "root", done)


@case
def the_start_is_told(at):
    client = Client(at)
    client.request("ping")
    client.close()
    expect("mode custom" in client.errors[0] and "containment active" in client.errors[0], client.errors)


if __name__ == "__main__":
    sys.exit(main("mcp"))
