#!/usr/bin/env bash
# Make a base image from Debian packages where no registry of images can be reached.
#
#   .ci/base_image.sh [NAME]      NAME is assay-ci-base:bookworm unless told; then build with
#   ASSAY_BASE_IMAGE=NAME assay images build
#
# Needs root, a running engine (DOCKER_HOST is honoured) and apt's own sources. About 20 s.
set -euo pipefail

name=${1:-assay-ci-base:bookworm}

fail() { echo "base_image.sh: $*" >&2; exit 1; }

docker version >/dev/null 2>&1 || fail "no engine answers. Start one with: eval \"\$(.ci/engine.sh start DIR)\""
if [ -n "$(docker images -q "$name")" ] && [ -z "${ASSAY_BASE_REBUILD:-}" ]; then
  echo "$name is there; ASSAY_BASE_REBUILD=1 makes it again" >&2
  exit 0
fi
if ! command -v mmdebstrap >/dev/null; then
  (apt-get update && apt-get install -y --no-install-recommends mmdebstrap) >&2 ||
    fail "apt could not install mmdebstrap. Install it by hand, then call this again."
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The host's sources where it is a bookworm: they are what is known to be reachable from here.
sources=()
if grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release; then
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    [ -s "$file" ] && sources+=("$file")
  done
fi

mmdebstrap --quiet --variant=minbase \
  --include=python3,python3-venv,ca-certificates,libgomp1 \
  --customize-hook='ln -sf python3 "$1/usr/bin/python"' \
  --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/etc/apt/sources.list*' \
  bookworm "$work/base.tar" "${sources[@]}" >&2
docker import \
  --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'CMD ["python3"]' "$work/base.tar" "$name" >&2
