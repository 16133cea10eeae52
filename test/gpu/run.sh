#!/usr/bin/env bash
# What a machine with a GPU can measure, in one go, as a report in Markdown: a layer of GPT-2 and one of Llama timed forward and backward, in
# fp32 and (except with --small) in bf16, the rates that follow for GEMMs and attention, and a rehearsal of two stages.
#
#   test/gpu/run.sh [--provider cuda|dml|coreml|webgpu|cpu] [--budget SECONDS] [--small] [--library-path FOLDER] [OUT]
#
# OUT is a folder (out/gpu). --small takes layers for a processor; the provider `cpu` implies it. docs/profiling.md explains where CUDA's
# libraries come from; --library-path names their folder.
set -euo pipefail
cd "$(dirname "$0")/../.."

provider=cuda
budget=120
size=full
out=out/gpu
while [ $# -gt 0 ]; do
  case "$1" in
    --provider) provider=$2; shift 2 ;;
    --budget) budget=$2; shift 2 ;;
    --small) size=small; shift ;;
    --library-path) export LD_LIBRARY_PATH="$2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; shift 2 ;;
    -*) echo "unknown option $1" >&2; exit 2 ;;
    *) out=$1; shift ;;
  esac
done
[ "$provider" != cpu ] || size=small

mkdir -p "$out"
[ -f dist/cli.js ] || node esbuild.mjs
node --import tsx test/gpu/configs.ts "$size" "$out"

status=0
# What fails is part of the report: the rest still runs.
step() {
  local log=$1
  shift
  echo "$*" >&2
  "$@" >"$log" 2>"$log.err" || {
    status=1
    tail -n 3 "$log.err" >>"$log"
  }
}
models=(gpt2 llama)
[ "$size" = small ] || models+=(gpt2-bf16 llama-bf16)
for model in "${models[@]}"; do
  step "$out/$model-profile.txt" node dist/cli.js profile "$out/$model/terapipe.json" --provider "$provider" --budget "$budget" --out "$out/$model/profile.json"
  # rehearsals are in fp32
  [[ $model == *-bf16 ]] || step "$out/$model-rehearsal.txt" node dist/cli.js rehearse "$out/$model/terapipe.json" --provider "$provider" --yes
done

{
  echo "# $(uname -sr), $provider, $(date -u +%Y-%m-%d)"
  echo
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  else
    echo "No nvidia-smi here."
  fi
  for model in "${models[@]}"; do
    echo
    echo "## $model"
    for part in profile rehearsal; do
      [ -f "$out/$model-$part.txt" ] || continue
      echo
      echo '```'
      cat "$out/$model-$part.txt"
      echo '```'
    done
    if [ -f "$out/$model/profile.json" ]; then
      echo
      node --import tsx test/gpu/rates.ts "$out/$model/profile.json"
    fi
  done
} >"$out/report.md"
cat "$out/report.md"
exit $status
