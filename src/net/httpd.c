/* httpd.c - libmicrohttpd asks on its one thread; a connection whose answer is not there yet is
 * suspended, and resumed by whoever has more of it.  A suspended one is not looked at by the
 * library, so a thread of our own sees whether its client is still there. */
#include "config.h"

#include "src/net/httpd.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/pool.h"

#define BACKLOG 128
#define PIECE 32768		/* bytes that the library asks for at a time */
#define LOOK_MS 200		/* between two looks at who is still there */
#define END_MS 10
#define END_LOOKS 100

struct httpd_request {
	struct httpd *h;
	struct httpd_request *next, **at;	/* of h->waiting; at NULL: not in it */
	pthread_mutex_t lock;		/* of all below, and of the connection's state */
	struct MHD_Connection *connection;	/* NULL: gone, or completely answered */
	int fd;				/* of it, -1 then */
	unsigned holds;
	char *method, *path;		/* owned */
	struct tb_buf body;
	bool asked, suspended, ended;
	unsigned status;		/* of the answer; 0: there is none yet */
	struct MHD_Response *response;	/* owned until it is queued */
	struct tb_buf out;		/* pieces, of which … */
	size_t taken;			/* … so many bytes were sent */
	httpd_gone_fn *gone;
	void *gone_arg;
};

struct httpd {
	struct httpd_opts o;
	struct MHD_Daemon *daemon;
	int fd;				/* that listens; -1: not any more */
	uint16_t port;
	pthread_t watcher;
	bool watching, stopping;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct httpd_request *waiting;	/* asked and not yet completely answered */
};

/* ---- a request ---- */

void
httpd_hold(struct httpd_request *r)
{
	pthread_mutex_lock(&r->lock);
	r->holds++;
	pthread_mutex_unlock(&r->lock);
}

void
httpd_drop(struct httpd_request *r)
{
	bool last;

	pthread_mutex_lock(&r->lock);
	last = !--r->holds;
	pthread_mutex_unlock(&r->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&r->lock);
	tb_buf_free(&r->body);
	tb_buf_free(&r->out);
	free(r->method);
	free(r->path);
	free(r);
}

static void
drop_later(void *arg)
{
	httpd_drop(arg);
}

const char *
httpd_header(struct httpd_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

const char *
httpd_method(const struct httpd_request *r)
{
	return r->method;
}

const char *
httpd_path(const struct httpd_request *r)
{
	return r->path;
}

const struct tb_buf *
httpd_body(const struct httpd_request *r)
{
	return &r->body;
}

/* Its lock is held. */
static void
tell_gone(struct httpd_request *r)
{
	if (r->gone)
		r->gone(r->gone_arg);
	r->gone = NULL;
}

void
httpd_when_gone(struct httpd_request *r, httpd_gone_fn *fn, void *arg)
{
	pthread_mutex_lock(&r->lock);
	r->gone = fn;
	r->gone_arg = arg;
	if (!r->connection && fn)
		tell_gone(r);
	pthread_mutex_unlock(&r->lock);
}

/* ---- its answer ---- */

/* Its lock is held. */
static void
go_on(struct httpd_request *r)
{
	if (r->suspended && r->connection)
		MHD_resume_connection(r->connection);
	r->suspended = false;
}

static void
answer_with(struct httpd_request *r, unsigned status, struct MHD_Response *response)
{
	bool there;

	pthread_mutex_lock(&r->lock);
	there = r->connection;
	r->status = status;
	r->response = there ? response : NULL;	/* NULL: no memory, and the connection is closed */
	go_on(r);
	pthread_mutex_unlock(&r->lock);
	if (!there && response)
		MHD_destroy_response(response);
}

static void
add_header(struct MHD_Response *response, const char *name, const char *value)
{
	if (response)
		(void)MHD_add_response_header(response, name, value);
}

void
httpd_answer(struct httpd_request *r, unsigned status, const char *type, struct tb_buf *body,
	     const char *more)
{
	struct MHD_Response *response;
	char name[64];
	size_t len = body->len, n = more ? strcspn(more, ":") : 0;
	char *text = tb_buf_take(body);

	response = text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;
	if (!response)
		free(text);
	add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (n && n < sizeof(name)) {
		memcpy(name, more, n);
		name[n] = 0;
		add_header(response, name, more + n + 1 + strspn(more + n + 1, " "));
	}
	answer_with(r, status, response);
}

/* The library wants more of a body. */
static ssize_t
more_of(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct httpd_request *r = arg;
	ssize_t n = 0;

	(void)pos;
	pthread_mutex_lock(&r->lock);
	if (r->taken < r->out.len) {
		size_t left = r->out.len - r->taken;

		n = (ssize_t)(left < max ? left : max);
		memcpy(buf, r->out.p + r->taken, (size_t)n);
		r->taken += (size_t)n;
	} else if (r->ended) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		MHD_suspend_connection(r->connection);
		r->suspended = true;
	}
	if (r->taken == r->out.len) {
		tb_buf_clear(&r->out);
		r->taken = 0;
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

void
httpd_begin(struct httpd_request *r, const char *type)
{
	struct MHD_Response *response;

	r->out = TB_BUF(HTTPD_WAITING_MAX);
	httpd_hold(r);
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, more_of, r, drop_later);
	if (!response)
		httpd_drop(r);
	add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	answer_with(r, MHD_HTTP_OK, response);
}

bool
httpd_write(struct httpd_request *r, const char *p, size_t n)
{
	bool ok;

	pthread_mutex_lock(&r->lock);
	if (r->connection && !r->ended)
		tb_buf_add(&r->out, p, n);
	ok = r->connection && !tb_buf_failed(&r->out);
	if (n && ok)
		go_on(r);
	pthread_mutex_unlock(&r->lock);
	return ok;
}

void
httpd_end(struct httpd_request *r)
{
	pthread_mutex_lock(&r->lock);
	r->ended = true;
	go_on(r);
	pthread_mutex_unlock(&r->lock);
}

/* ---- what the library calls ---- */

static struct httpd_request *
request_new(struct httpd *h, struct MHD_Connection *connection, const char *method, const char *path)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct httpd_request *r = tb_calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	r->h = h;
	r->holds = 1;
	r->connection = connection;
	r->fd = info ? info->connect_fd : -1;
	r->body = TB_BUF(h->o.body_max);
	r->method = tb_strdup(method);
	r->path = tb_strdup(path);
	if (r->method && r->path)
		return r;
	httpd_drop(r);
	return NULL;
}

static void
wait_for(struct httpd *h, struct httpd_request *r)
{
	pthread_mutex_lock(&h->lock);
	r->next = h->waiting;
	r->at = &h->waiting;
	if (r->next)
		r->next->at = &r->next;
	h->waiting = r;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
}

static enum MHD_Result
queue_answer(struct httpd_request *r)
{
	enum MHD_Result ok;

	if (!r->response)
		return MHD_NO;
	ok = MHD_queue_response(r->connection, r->status, r->response);
	MHD_destroy_response(r->response);
	r->response = NULL;
	return ok;
}

static enum MHD_Result
too_large(struct MHD_Connection *connection)
{
	static char text[] = "{\"error\":{\"message\":\"the request is too large\","
			     "\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}\n";
	struct MHD_Response *response = MHD_create_response_from_buffer(sizeof(text) - 1, text,
									MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok;

	if (!response)
		return MHD_NO;
	add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	ok = MHD_queue_response(connection, MHD_HTTP_CONTENT_TOO_LARGE, response);
	MHD_destroy_response(response);
	return ok;
}

/* What a head says of the length of its body. */
struct lengths { unsigned said, coded; unsigned long long n; };

static enum MHD_Result
see_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct lengths *l = arg;

	(void)kind;
	if (!strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
		l->said++;
		l->n = value ? strtoull(value, NULL, 10) : 0;
	}
	l->coded += !strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING);
	return MHD_YES;
}

/* What is announced as too large is not read; and nothing is, where others could think it of
 * another length (a proxy in front of us). */
static bool
refuse_head(const struct httpd *h, struct MHD_Connection *connection, enum MHD_Result *ok)
{
	struct lengths l = { 0 };

	(void)MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &l);
	if (l.said + l.coded > 1)
		*ok = MHD_NO;
	else if (l.n > h->o.body_max)
		*ok = too_large(connection);
	else
		return false;
	return true;
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *connection, const char *path, const char *method,
	   const char *version, const char *data, size_t *n, void **kept)
{
	struct httpd *h = arg;
	struct httpd_request *r = *kept;
	enum MHD_Result ok = MHD_YES;

	(void)version;
	if (!r) {		/* its head is there */
		if (refuse_head(h, connection, &ok))
			return ok;
		*kept = request_new(h, connection, method, path);
		return *kept ? MHD_YES : MHD_NO;
	}
	if (*n) {
		tb_buf_add(&r->body, data, *n);
		*n = 0;
		return tb_buf_failed(&r->body) ? MHD_NO : MHD_YES;
	}
	if (!r->asked) {
		r->asked = true;
		wait_for(h, r);
		h->o.fn(h->o.arg, r);
	}
	pthread_mutex_lock(&r->lock);
	if (r->status) {
		ok = queue_answer(r);
	} else {
		MHD_suspend_connection(connection);
		r->suspended = true;
	}
	pthread_mutex_unlock(&r->lock);
	return ok;
}

static void
on_completed(void *arg, struct MHD_Connection *connection, void **kept,
	     enum MHD_RequestTerminationCode how)
{
	struct httpd *h = arg;
	struct httpd_request *r = *kept;
	struct MHD_Response *response;

	(void)connection;
	if (!r)
		return;
	*kept = NULL;
	pthread_mutex_lock(&h->lock);
	if (r->at) {
		*r->at = r->next;
		if (r->next)
			r->next->at = r->at;
		r->at = NULL;
	}
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_lock(&r->lock);
	r->connection = NULL;
	r->fd = -1;
	response = r->response;
	r->response = NULL;
	if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK)
		tell_gone(r);
	pthread_mutex_unlock(&r->lock);
	if (response)		/* it may hold the request */
		MHD_destroy_response(response);
	httpd_drop(r);
}

/* ---- clients that go away ---- */

static void
look_after(struct httpd_request *r)
{
	struct pollfd p = { .events = POLLRDHUP };

	pthread_mutex_lock(&r->lock);
	p.fd = r->fd;
	if (r->gone && r->fd >= 0 && poll(&p, 1, 0) > 0 &&
	    p.revents & (POLLRDHUP | POLLHUP | POLLERR))
		tell_gone(r);
	pthread_mutex_unlock(&r->lock);
}

static void *
watch_clients(void *arg)
{
	struct httpd *h = arg;
	struct timespec t;

	pthread_mutex_lock(&h->lock);
	while (!h->stopping) {
		if (!h->waiting) {
			pthread_cond_wait(&h->wake, &h->lock);
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += LOOK_MS * 1000000L;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		(void)pthread_cond_timedwait(&h->wake, &h->lock, &t);
		for (struct httpd_request *r = h->waiting; r; r = r->next)
			look_after(r);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- the server ---- */

static enum tb_status
listen_at(struct httpd *h, struct tb_err *err)
{
	const char *address = h->o.address ? h->o.address : "127.0.0.1";
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE }, *ai;
	struct sockaddr_storage bound = { 0 };
	socklen_t len = sizeof(bound);
	char port[8], service[8];
	int one = 1;
	enum tb_status status = TB_OK;

	snprintf(port, sizeof(port), "%u", h->o.port);
	if (getaddrinfo(address, port, &hints, &ai))
		return tb_fail(err, TB_EUSAGE, "%s is no address in numbers; take 127.0.0.1, ::1 or "
			       "that of an interface", address);
	h->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (h->fd < 0 || setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(h->fd, ai->ai_addr, ai->ai_addrlen) || listen(h->fd, BACKLOG) ||
	    getsockname(h->fd, (struct sockaddr *)&bound, &len) ||
	    getnameinfo((struct sockaddr *)&bound, len, NULL, 0, service, sizeof(service),
			NI_NUMERICSERV))
		status = errno == EADDRINUSE
		       ? tb_fail(err, TB_EEXIST, "port %s of %s is taken by another program; take "
				 "another one with --port", port, address)
		       : tb_fail_errno(err, "%s port %s", address, port);
	else
		h->port = (uint16_t)strtoul(service, NULL, 10);
	freeaddrinfo(ai);
	return status;
}

static void
no_log(void *arg, const char *fmt, va_list args)
{
	(void)arg;
	(void)fmt;
	(void)args;
}

static enum tb_status
start_threads(struct httpd *h, struct tb_err *err)
{
	sigset_t before;
	bool ok;

	/* With epoll the library forgets clients that leave while they are suspended. */
	tb_signals_block(&before);
	h->watching = !pthread_create(&h->watcher, NULL, watch_clients, h);
	h->daemon = MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL,
		NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, h->fd, MHD_OPTION_CONNECTION_LIMIT, h->o.connections,
		MHD_OPTION_CONNECTION_TIMEOUT, h->o.idle, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
	ok = h->watching && h->daemon;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok ? TB_OK : tb_fail(err, TB_ENOMEM, "cannot start the HTTP server");
}

enum tb_status
httpd_start(struct httpd **out, const struct httpd_opts *opts, struct tb_err *err)
{
	struct httpd *h = tb_calloc(1, sizeof(*h));
	enum tb_status status;

	*out = NULL;
	if (!h)
		return tb_nomem(err);
	h->o = *opts;
	h->fd = -1;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->wake, NULL);
	if ((status = listen_at(h, err)) || (status = start_threads(h, err))) {
		httpd_stop(h);
		return status;
	}
	*out = h;
	return TB_OK;
}

uint16_t
httpd_port(const struct httpd *h)
{
	return h->port;
}

void
httpd_close_door(struct httpd *h)
{
	if (h->daemon && h->fd >= 0) {
		(void)MHD_quiesce_daemon(h->daemon);
		close(h->fd);
		h->fd = -1;
	}
}

static bool
any_waiting(struct httpd *h)
{
	bool any;

	pthread_mutex_lock(&h->lock);
	any = h->waiting;
	pthread_mutex_unlock(&h->lock);
	return any;
}

void
httpd_stop(struct httpd *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < END_LOOKS && any_waiting(h); i++)
		(void)poll(NULL, 0, END_MS);
	if (h->daemon)
		MHD_stop_daemon(h->daemon);	/* closes what listens, unless it was quiesced */
	else if (h->fd >= 0)
		close(h->fd);
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	if (h->watching)
		pthread_join(h->watcher, NULL);
	pthread_cond_destroy(&h->wake);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
