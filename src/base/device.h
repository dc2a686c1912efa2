/* device.h - how many files of a device should be read at a time. */
#ifndef TBTUI_BASE_DEVICE_H
#define TBTUI_BASE_DEVICE_H

#include <stdint.h>

#define TB_READERS_ANY 0u

/* dev: st_dev of `path`, which is there.  1: a disk that turns, whose head goes to one
 * place at a time; a few: another machine, or a program; TB_READERS_ANY: as many as
 * there are who want to. */
unsigned tb_device_readers(const char *path, uint64_t dev);

/* The same from what the kernel says below `sys` ("/sys"); TB_READERS_ANY also when it says
 * nothing. */
unsigned tb_device_readers_in(const char *sys, uint64_t dev);
#endif
