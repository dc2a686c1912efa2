noinst_LIBRARIES += src/net/libnet.a
src_net_libnet_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(MICROHTTPD_CFLAGS)
src_net_libnet_a_SOURCES = \
	src/net/auth.c \
	src/net/auth.h \
	src/net/auth_parts.h \
	src/net/auth_token.c \
	src/net/challenge.c \
	src/net/challenge.h \
	src/net/credentials.c \
	src/net/credentials.h \
	src/net/docker_config.c \
	src/net/docker_config.h \
	src/net/docker_helper.c \
	src/net/http.c \
	src/net/http.h \
	src/net/http_headers.c \
	src/net/http_parts.h \
	src/net/http_wire.c \
	src/net/httpd.c \
	src/net/httpd.h \
	src/net/image_name.c \
	src/net/image_name.h \
	src/net/hub_api.c \
	src/net/hub_api.h \
	src/net/hub_files.c \
	src/net/hub_files.h \
	src/net/hub_name.c \
	src/net/hub_name.h \
	src/net/hub_refusal.c \
	src/net/hub_token.c \
	src/net/hub_token.h \
	src/net/key.c \
	src/net/key.h \
	src/net/registry.c \
	src/net/registry.h \
	src/net/registry_blob.c \
	src/net/registry_error.c \
	src/net/registry_parts.h \
	src/net/registry_read.c \
	src/net/sse.c \
	src/net/sse.h \
	src/net/ssh_key.c \
	src/net/ssh_key.h \
	src/net/url.c \
	src/net/url.h
