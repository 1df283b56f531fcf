/* SPDX-License-Identifier: MIT */
/*
 * Opens the store that the argument describes, keeps a block in it, and prints its topmost layer,
 * whether it registers memory, and the text of reel_error_text(0). Prints the error if it fails.
 */
#include <reel.h>
#include <reel/extend.h>

#include <stdio.h>
#include <string.h>

static bool keeps(reel_store *store)
{
	static unsigned char data[4096], back[4096];
	reel_transfer put = {.data = data, .bytes = sizeof data};
	reel_transfer get = {.data = back, .bytes = sizeof back};

	memset(data, 42, sizeof data);
	if (reel_store_put_and_wait(store, &put))
		return false;
	get.extent = put.extent;
	return !reel_store_get_and_wait(store, &get) && !memcmp(data, back, sizeof data);
}

int main(int count, char **words)
{
	struct reel_store_capacity capacity;
	reel_store *store;
	int error = reel_store_open(&store, count > 1 ? words[1] : NULL, NULL);

	if (error) {
		printf("error %s: %s\n", strerror(-error), reel_error_text(0));
		return 1;
	}
	reel_store_get_capacity(store, &capacity);
	printf("%s %s %s: %s\n", store->verbs->name, capacity.registers ? "registers" : "copies",
	       keeps(store) ? "keeps" : "loses", reel_error_text(0));
	reel_store_close(store);
	return 0;
}
