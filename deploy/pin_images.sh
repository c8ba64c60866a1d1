#!/usr/bin/env bash
# Pin every base image to its digest, where a registry can be reached: bash deploy/pin_images.sh
# Rewrites `FROM name:tag` and `image: name:tag` in deploy/ as `name:tag@sha256:…`; run it again to update the digests.
set -euo pipefail
cd "$(dirname "$0")"

for file in Dockerfile Dockerfile.habitat monitoring/compose.yaml; do
    for image in $(sed -nE 's/^(FROM| *image:) ([^@ ]+)(@sha256:[0-9a-f]+)?$/\2/p' "$file"); do
        digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
        [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "bonuslab: no digest of $image: $digest" >&2; exit 1; }
        sed -E -i "s#^(FROM| *image:) $image(@sha256:[0-9a-f]+)?\$#\1 $image@$digest#" "$file"
        echo "$file: $image@$digest"
    done
done
