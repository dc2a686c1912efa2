/* little_server.h - a server for tests: it remembers what it was asked, and a function of the
 * test answers. */
#ifndef TBTUI_TESTS_LITTLE_SERVER_H
#define TBTUI_TESTS_LITTLE_SERVER_H

#include <pthread.h>

#include "src/base/buf.h"

struct little_server;
/* The whole answer to a request; nothing: silence until the other side goes. */
typedef void little_answer_fn(struct little_server *s, const char *request, struct tb_buf *out);

struct little_server {		/* on 127.0.0.1, one connection at a time */
	unsigned port;
	char log[1 << 17];	/* requests, each with "====" behind; read it after an answer */
	unsigned asked;		/* how many */
	struct little_server *other;	/* the test's own */
	little_answer_fn *answer;
	int fd;
	pthread_t thread;
};

#define LITTLE_OK "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: "
#define LITTLE_EMPTY "Connection: close\r\nContent-Length: 0\r\n\r\n"

void little_start(struct little_server *s, little_answer_fn *answer);
void little_stop(struct little_server *s);
void little_forget(struct little_server *s);	/* its log */
#endif
