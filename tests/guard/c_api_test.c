/* A C program against include/cordon/guard_c.h: that it compiles as C, links, and answers. */
#include <cordon/guard_c.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  ++failures;
}

static void paths(void) {
  cordon_answer answer;
  expect(cordon_check_path("/tmp/x", "/tmp", NULL, NULL, CORDON_WRITE, &answer), "inside");
  expect(strcmp(answer.value, "/tmp/x") == 0 && answer.reason[0] == '\0', "where it leads");
  expect(!cordon_check_path("../etc", "/tmp", NULL, NULL, CORDON_READ, &answer), "outside");
  expect(strcmp(answer.reason, "path_outside") == 0 && answer.rule[0] != '\0', "its reason");
  expect(!cordon_check_path("/etc/passwd", NULL, NULL, NULL, CORDON_WRITE, NULL), "system");
  expect(cordon_check_path("/etc/passwd", NULL, NULL, NULL, CORDON_READ, NULL), "read it");
  expect(!cordon_check_path("/a/config.toml", NULL, "/a", NULL, CORDON_READ, NULL), "data dir");
  expect(!cordon_check_path("/b.toml", NULL, "/a", "/b.toml", CORDON_READ, NULL), "config");
  expect(!cordon_check_path("/tmp/soul.md", NULL, NULL, NULL, CORDON_WRITE, NULL), "identity");
  expect(!cordon_check_path(NULL, NULL, NULL, NULL, CORDON_READ, &answer), "null path");
}

static void urls(void) {
  const char* good[] = {"1.1.1.1", "2606:4700:4700::1111", NULL};
  const char* mixed[] = {"1.1.1.1", "127.0.0.1", NULL};
  const char* none[] = {NULL};
  cordon_answer answer;
  expect(cordon_check_url("https://example.com/", &answer), "public");
  expect(!cordon_check_url("http://169.254.169.254/", &answer), "metadata");
  expect(strcmp(answer.reason, "address_denied") == 0, "its reason");
  expect(cordon_check_addresses("https://example.com/", good, &answer), "resolved");
  expect(strcmp(answer.value, "1.1.1.1") == 0, "where to connect");
  expect(!cordon_check_addresses("https://example.com/", mixed, &answer), "one is inner");
  expect(!cordon_check_addresses("https://example.com/", none, NULL), "no address");
  expect(!cordon_check_addresses("https://example.com/", NULL, NULL), "null list");
  expect(!cordon_check_url(NULL, NULL), "null URL");
}

static void words(void) {
  cordon_answer answer;
  expect(cordon_check_variable("FOO", "x", NULL), "ordinary variable");
  expect(cordon_check_variable("FOO", NULL, NULL), "no value");
  expect(!cordon_check_variable("LD_PRELOAD", "x", &answer), "dangerous variable");
  expect(strcmp(answer.reason, "variable_denied") == 0, "its reason");
  expect(cordon_check_command("ls -l | wc", &answer), "reads");
  expect(strcmp(answer.value, "read-only") == 0, "its effect");
  expect(!cordon_check_command("ls; rm x", &answer), "destroys");
  expect(strcmp(answer.value, "destructive") == 0, "its effect, too");
}

static void texts(void) {
  /* In two, so that this file holds nothing that looks like a token. */
  char text[128] = "token gh";
  char out[128];
  cordon_answer answer;
  strcat(text, "p_k3Jx9QmZ2vR8tLw5Nc7Ya1Bf4Hs6Du0EoPgV and on");
  expect(cordon_check_text("nothing here", 12, &answer), "plain text");
  expect(!cordon_check_text(text, strlen(text), &answer), "a token");
  expect(strstr(answer.value, "k3Jx9QmZ2v") == NULL, "its preview is not it");
  expect(cordon_redact_text(text, strlen(text), out, sizeof(out)) == strlen(out), "redacted");
  expect(strstr(out, "k3Jx9QmZ2v") == NULL && strstr(out, " and on") != NULL, "the rest stays");
  expect(cordon_redact_text(text, strlen(text), out, 4) > 4 && strlen(out) == 3, "cut");
  expect(cordon_redact_text(NULL, 0, out, sizeof(out)) == (size_t)-1, "null text");
}

int main(void) {
  paths();
  urls();
  words();
  texts();
  if (failures == 0) puts("the C calls answer");
  return failures == 0 ? 0 : 1;
}
