#!/bin/sh
# measure.sh FOLDER STORE: measures the page in FOLDER and keeps the loads in STORE. Each version has a library of its own, because
# both are called shop: a study names what it loads, and equal studies draw equal random numbers.
set -eu
XDG_DATA_HOME=$(mktemp -d)
export XDG_DATA_HOME
trap 'rm -rf "$XDG_DATA_HOME"' EXIT
wiretime site add "$1" --name shop
wiretime run page-speed.yaml --store "$2"
