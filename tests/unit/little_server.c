#include "config.h"

#include "tests/unit/unit.h"

#include "tests/unit/little_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX (4u << 20)

/* The whole request, its body as long as it says. */
static size_t
read_request(int fd, char *p, size_t max)
{
	size_t n = 0, want = SIZE_MAX;

	while (n < max && n < want) {
		ssize_t got = read(fd, p + n, max - n);
		const char *end, *length;

		if (got <= 0)
			break;
		n += (size_t)got;
		p[n] = 0;
		end = strstr(p, "\r\n\r\n");
		length = strstr(p, "Content-Length: ");
		if (end && want == SIZE_MAX) {
			want = (size_t)(end + 4 - p) + (length ? strtoul(length + 16, NULL, 10) : 0);
			if (strstr(p, "100-continue") && write(fd, "HTTP/1.1 100 Go on\r\n\r\n", 22) != 22)
				break;
		}
	}
	return n;
}

static void
answer_request(struct little_server *s, int fd, char *text)
{
	struct tb_buf out = TB_BUF(16u << 20);
	size_t n = read_request(fd, text, REQUEST_MAX - 1);

	text[n] = 0;
	s->asked++;
	snprintf(s->log + strlen(s->log), sizeof(s->log) - strlen(s->log), "%.3000s\n====\n", text);
	s->answer(s, text, &out);
	if (!out.len)
		n = (size_t)read(fd, text, 1);
	else if (send(fd, out.p, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
		n = 0;		/* it went: the test sees why */
	tb_buf_free(&out);
	close(fd);
}

static void *
serve(void *arg)
{
	struct little_server *s = arg;
	char *text = malloc(REQUEST_MAX);

	for (int fd; text && (fd = accept(s->fd, NULL, NULL)) >= 0;)
		answer_request(s, fd, text);
	free(text);
	return NULL;
}

void
little_start(struct little_server *s, little_answer_fn *answer)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	s->answer = answer;
	s->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(s->fd, 50), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
	s->port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void
little_stop(struct little_server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

void
little_forget(struct little_server *s)
{
	*s->log = 0;
	s->asked = 0;
}
