/* demo_files.c - the files of the demo's model, within the program: it works alone, wherever
 * it was copied to. */
#include "config.h"

#include "src/ops/demo/demo.h"

/* The assembler reads them: a compiler would need minutes for an array of that size. */
#define WITHIN(sym, file) \
	extern const char sym[], sym##_end[]; \
	__asm__(".pushsection .rodata\n" \
		".balign 64\n" \
		#sym ":\n" \
		".incbin \"" DEMO_DATA "/" file "\"\n" \
		#sym "_end:\n" \
		".byte 0\n" \
		".popsection\n")

#define DEMO_FILE_LIST(X) \
	X(demo_file_config, "config.json") \
	X(demo_file_generation, "generation_config.json") \
	X(demo_file_weights, "model.safetensors") \
	X(demo_file_tokenizer, "tokenizer.json") \
	X(demo_file_tokenizer_config, "tokenizer_config.json")

#define X(sym, file) WITHIN(sym, file);
DEMO_FILE_LIST(X)
#undef X

#define X(sym, file) { file, sym, sym##_end },
const struct demo_file demo_files[] = { DEMO_FILE_LIST(X) { NULL, NULL, NULL } };
#undef X
