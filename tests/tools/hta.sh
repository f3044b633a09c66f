#!/usr/bin/env bash
# Whether Holistic Trace Analysis reads exported traces, and finds the overlap of communication with compute that follows
# from the spans: it cuts to whole microseconds, so that each span may count one less or more.
#
#   tests/tools/hta.sh SHARDSCOPE [PYTHON]     PYTHON has HolisticTraceAnalysis 0.5.0 (pip install HolisticTraceAnalysis==0.5.0)
set -euo pipefail

binary=$(realpath "$1")
python=${2:-python3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

check() {
    local name=$1
    shift
    "$binary" export --to trace "$@" --out "$dir/$name/rank.json.gz" >/dev/null
    "$python" - "$dir/$name" <<'PYTHON'
import glob, gzip, json, logging, sys

logging.disable(logging.WARNING)
from hta.trace_analysis import TraceAnalysis


def union(spans):
    joined = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return joined


folder = sys.argv[1]
files = {}
for file in glob.glob(folder + "/*.json.gz"):
    trace = json.load(gzip.open(file))
    files[trace["distributedInfo"]["rank"]] = (file, trace)
analysis = TraceAnalysis(trace_files={rank: file for rank, (file, _) in files.items()}, trace_dir=folder)
overlap = analysis.get_comm_comp_overlap(visualize=False)
for rank, (_, trace) in sorted(files.items()):
    kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    span = lambda event: (event["ts"], event["ts"] + event["dur"])
    is_nccl = lambda event: event["name"].startswith("nccl")
    communication = union(span(event) for event in kernels if is_nccl(event))
    compute = union(span(event) for event in kernels if not is_nccl(event) and not event["name"].startswith("Memcpy"))
    whole = sum(end - start for start, end in communication)
    hidden, at = 0.0, 0
    for start, end in communication:
        while at < len(compute) and compute[at][1] <= start:
            at += 1
        for other in compute[at:]:
            if other[0] >= end:
                break
            hidden += min(end, other[1]) - max(start, other[0])
    own = 100 * hidden / whole
    theirs = float(overlap[overlap["rank"] == rank]["comp_comm_overlap_pctg"].iloc[0])
    most = 100 * len(kernels) / whole
    print(f"rank {rank}: {own:.2f} % of communication overlaps compute, {theirs:.2f} % by HTA, {most:.2f} allowed between")
    assert abs(own - theirs) <= most + 0.01, "they differ"
PYTHON
}

check fsdp --model mpt-7b --nodes 2
check pipeline --model mpt-7b --nodes 4 --pp 2 --accumulate 8
