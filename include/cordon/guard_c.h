/* The guards for C and whatever calls C. See guard.h for what each answers.
 *
 *   cordon_answer answer;
 *   if (!cordon_check_url("http://10.0.0.1/", &answer)) puts(answer.rule);
 *
 * Every call returns 1 if it is allowed and 0 if not; a null pointer, an empty value
 * and what cannot be answered are denied. `answer` may be null. Texts are UTF-8 or bytes,
 * end in NUL, and are cut where they do not fit. Any thread may call. */
#ifndef CORDON_GUARD_C_H
#define CORDON_GUARD_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): C has its own names. */
typedef struct cordon_answer {
  int allowed;
  char reason[32];  /* the id of docs/errors.md; empty if allowed */
  char rule[256];   /* what decided, in words */
  char value[4096]; /* a path: where it leads; an address: the one to connect to;
                       a command: its effect */
} cordon_answer;

typedef enum cordon_path_use { CORDON_READ = 0, CORDON_WRITE = 1 } cordon_path_use;
/* NOLINTEND(readability-identifier-naming) */

/* `root`, `data_dir` and `config_path` may be null. */
int cordon_check_path(const char* path, const char* root, const char* data_dir,
                      const char* config_path, cordon_path_use use, cordon_answer* answer);

/* Before the host is resolved, and after: `addresses` ends in a null pointer. */
int cordon_check_url(const char* url, cordon_answer* answer);
int cordon_check_addresses(const char* url, const char* const* addresses, cordon_answer* answer);

/* `value` may be null. */
int cordon_check_variable(const char* name, const char* value, cordon_answer* answer);

/* For prompts, never a boundary. */
int cordon_check_command(const char* line, cordon_answer* answer);

/* Text that leaves: 0 if a secret leaks with it; `answer->value` is the preview of the first. */
int cordon_check_text(const char* text, size_t length, cordon_answer* answer);

/* Puts the text without its secrets and a NUL into `out`, cut at `room` bytes, and returns
 * the length of the whole; SIZE_MAX, and an empty text, if that cannot be done. */
size_t cordon_redact_text(const char* text, size_t length, char* out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
