#!/usr/bin/env bash
# From a fresh clone to a tuned op, in one command: installs what is missing, builds, races the
# candidates of potrf in float and double on this machine at preview tier, derives the table, and
# prints per shape the winner, its time, the vendor's time and the speedup.
#
# Everything it writes is under build/: the ledger and tables of the repository stay as they are.
# A second run measures only what is not recorded yet. Variables that pin OpenBLAS to an older core
# are taken out, so that the vendor runs at its best.
set -euo pipefail
cd "$(dirname "$0")/.."
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

scripts/setup.sh
log=build/quickstart/build.log
mkdir -p build/quickstart
echo "Building (log: $log) ..."
if ! { cmake --preset release && cmake --build --preset release --target furlong; } > "$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "quickstart: the build failed; see $log" >&2
  exit 1
fi
furlong=build/release/bin/furlong

echo
echo "Tuning potrf for $("$furlong" list --device) at preview tier ..."
tune=("$furlong" tune potrf --dtype float,double --tier preview --budget 0.03
  --ledger build/quickstart/ledger)
if ! "${tune[@]}" --guard-wait 15; then
  echo "The machine is busy: measuring all the same, so the figures below are rough."
  "${tune[@]}" --no-guard
fi
"$furlong" table --op potrf --ledger build/quickstart/ledger --out build/quickstart/tuned

echo
FURLONG_TUNED_DIR=build/quickstart/tuned "$furlong" bench potrf --dtype float,double \
  --tier preview --against vendor
