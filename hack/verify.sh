#!/bin/sh
# Fails when `make generate` would change one of the given paths, or when a CRD is too large for a plain `kubectl apply`:
# that stores the whole object in an annotation, and annotations hold 256 KiB in all.
set -eu

most=$((200 * 1024))
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT INT TERM

for path in "$@"; do
	mkdir -p "$before/$(dirname "$path")"
	[ ! -e "$path" ] || cp -R "$path" "$before/$path"
done
${MAKE:-make} --no-print-directory generate >/dev/null

failed=0
for path in "$@"; do
	if ! diff -ruN "$before/$path" "$path"; then
		failed=1
	fi
done
[ $failed = 0 ] || echo "verify: generated files were out of date; 'make generate' has just renewed them: commit them" >&2

for crd in config/crd/bases/*.yaml; do
	size=$(wc -c <"$crd")
	echo "verify: $crd has $((size / 1024)) KiB of at most $((most / 1024))"
	if [ "$size" -ge $most ]; then
		echo "verify: $crd is too large for a plain kubectl apply" >&2
		failed=1
	fi
done
exit $failed
