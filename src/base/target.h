/* target.h - what stands between TARGET("avx2,fma") and TARGET_END may use instructions that
 * not every CPU has; who calls it asks first.  Compilers have words of their own for it. */
#ifndef TBTUI_BASE_TARGET_H
#define TBTUI_BASE_TARGET_H

#define TARGET_PRAGMA(x) _Pragma(#x)
#ifdef __clang__
#define TARGET(list) \
	TARGET_PRAGMA(clang attribute push(__attribute__((target(list))), apply_to = function))
#define TARGET_END TARGET_PRAGMA(clang attribute pop)
#else
#define TARGET(list) TARGET_PRAGMA(GCC push_options) TARGET_PRAGMA(GCC target(list))
#define TARGET_END TARGET_PRAGMA(GCC pop_options)
#endif
#endif
