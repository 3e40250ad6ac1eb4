#!/usr/bin/env bash
# Make an image that is none of assay's: Debian 11 with its own Python 3.9 and numpy, as a production image may be.
#
#   .ci/foreign_image.sh [NAME]      NAME is assay-ci-foreign:bullseye unless told
#
# Needs root, a running engine (DOCKER_HOST is honoured) and apt's network. One to two minutes, once.
set -euo pipefail

name=${1:-assay-ci-foreign:bullseye}

fail() { echo "foreign_image.sh: $*" >&2; exit 1; }

docker version >/dev/null 2>&1 || fail "no engine answers. Start one with: eval \"\$(.ci/engine.sh start DIR)\""
if [ -n "$(docker images -q "$name")" ]; then
  echo "$name is there" >&2
  exit 0
fi
if ! command -v mmdebstrap >/dev/null; then
  (apt-get update && apt-get install -y --no-install-recommends mmdebstrap) >&2 ||
    fail "apt could not install mmdebstrap. Install it by hand, then call this again."
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make() {
  mmdebstrap --quiet --variant=minbase --include=python3,python3-numpy \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
    "$1" "$work/foreign.tar" >&2
}

# An old release leaves the mirrors one day: the next one is no less foreign.
release=bullseye
make bullseye || { echo "foreign_image.sh: bullseye cannot be had; bookworm stands in" >&2; release=bookworm; make bookworm; }
# As a stranger would: an entrypoint and a user of its own, no `python`, and none of our labels.
docker import \
  --change "LABEL debian=$release" --change 'ENTRYPOINT ["/bin/false"]' --change 'USER nobody' "$work/foreign.tar" "$name" >&2
