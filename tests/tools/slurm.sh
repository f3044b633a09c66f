#!/usr/bin/env bash
# A tuned sweep as a job array, on a Slurm of one node that this script starts on the loopback and ends again. One task is
# killed, `merge` names its part, that alone is submitted again, and what is merged then is one sweep's, byte for byte.
# Before that, scripts of plans are tried with `sbatch --test-only` on 64 nodes of eight devices that are there in name only.
#
#   tests/tools/slurm.sh [SHARDSCOPE]     by default target/release/shardscope; needs slurmctld, slurmd, slurm-client, munge
set -euo pipefail

binary=$(realpath "${1:-target/release/shardscope}")
for tool in munged slurmctld slurmd sbatch squeue scancel; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "slurm.sh: $tool is missing" >&2; exit 1; }
done
export PATH=$PATH:/usr/sbin

dir=$(mktemp -d)
chmod 755 "$dir"
daemons=()
# Processes of this Slurm: slurmd's children for steps, and what these run, outlive it and belong to init; the
# configuration in their environment tells whose they are.
ours() {
    env -u SLURM_CONF grep -slzxF "SLURM_CONF=$dir/slurm.conf" /proc/[0-9]*/environ | cut -d / -f 3
}
finish() {
    local code=$? left
    trap '' INT TERM HUP
    [ "$code" = 0 ] || tail -n 20 "$dir"/*.log >&2 || true
    # Those started last end first, within five seconds: slurmd waits for a munged that is gone.
    for ((at = ${#daemons[@]} - 1; at >= 0; at--)); do
        kill "${daemons[at]}" 2>/dev/null || true
        timeout 5 tail --pid="${daemons[at]}" -f /dev/null || true
    done
    # shellcheck disable=SC2086
    while left=$(ours || true) && [ -n "$left" ]; do kill -KILL $left 2>/dev/null || true; done
    rm -rf "$dir"
}
trap finish EXIT
trap 'echo "slurm.sh: line $LINENO failed" >&2' ERR
fail() { echo "slurm.sh: $*" >&2; exit 1; }

# Waits at most five minutes, on a busy machine, for a command to succeed.
await() {
    local what=$1 deadline=$((SECONDS + 300))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || fail "$what did not come in five minutes"
        sleep 0.3
    done
}

port=$((20000 + $$ % 20000))
mkdir -m 755 "$dir/state" "$dir/spool" "$dir/bin" "$dir/jobs"
ln -s "$binary" "$dir/bin/shardscope"
export PATH=$dir/bin:$PATH SLURM_CONF=$dir/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=loopback
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthInfo=socket=$dir/munge.socket
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1
ReturnToService=2
KillWait=2
GresTypes=gpu
PrivateData=cloud
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=3600
SuspendExcNodes=$(hostname -s)
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
NodeName=gpu[001-064] CPUs=96 RealMemory=1900000 Gres=gpu:h100:8 State=CLOUD
PartitionName=all Nodes=$(hostname -s) Default=YES MaxTime=10 State=UP
PartitionName=gpu Nodes=gpu[001-064] MaxNodes=32 MaxTime=30-0 State=UP
CONF

# Each daemon has a session of its own: Ctrl-C reaches this script alone, which ends them in order.
dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 status=none
chmod 600 "$dir/munge.key"
setsid munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munge.pid" \
    --seed-file="$dir/munge.seed" --log-file="$dir/munge.log" 2>"$dir/munged.log" &
daemons+=($!)
await "munge" test -S "$dir/munge.socket"
setsid slurmctld -D -i >"$dir/slurmctld.log" 2>&1 &
daemons+=($!)
setsid slurmd -D >"$dir/slurmd.log" 2>&1 &
daemons+=($!)
idle() { sinfo -h -p all -o %T | grep -q idle; }
await "an idle node" idle

# Slurm takes the script of a plan that the partition has room for, and names what it has not.
tried() {
    local name=$1
    shift
    shardscope export --to sbatch --hardware h100-80gb-dgx --model llama-3.1-8b --partition gpu --out "$dir/plans/$name" \
        "$@" >/dev/null
    sbatch --test-only "$dir/plans/$name"/*.sh train.py 2>&1
}
for plan in "--nodes 32 --tokens 10B" "--nodes 1" "--devices 4" "--nodes 16 --tp 8 --pp 4 --accumulate 16"; do
    # shellcheck disable=SC2086
    said=$(tried "${plan// /}" $plan) || fail "sbatch refuses the plan '$plan': $said"
    [[ $said == *"to start at"*gpu* ]] || fail "sbatch says of the plan '$plan': $said"
done
! said=$(tried large --nodes 33) || fail "sbatch takes 33 nodes of 32: $said"
[[ $said == *[Nn]ode* ]] || fail "sbatch refuses 33 nodes of 32, but says: $said"
echo "slurm.sh: sbatch --test-only takes four plans' scripts and refuses one that is too large: ${said##*: }"

# Some seconds for each of four parts.
sweep=(--hardware a100-80gb-dgx --model mpt-30b --nodes 64 --pp 8 --x "micro-batch=1..16:1" --y "seq=128..32768:16" --tune)
cd "$dir/jobs"
shardscope export --to sbatch --sweep "${sweep[@]}" --parts 4 --out . >/dev/null
job=$(sbatch --parsable sweep.sbatch)
running() { squeue -h -t RUNNING -j "$1" | grep -q .; }
ended() { ! squeue -h -j "$1" | grep -q .; }
await "task 1" running "${job}_1"
scancel "${job}_1"
await "the end of job $job" ended "$job"

[ ! -e part-1.csv ] || fail "task 1 ended before it was killed; make the sweep larger"
parts=(part-*.csv)
[ "${parts[*]}" = "part-0.csv part-2.csv part-3.csv" ] || fail "there are ${parts[*]}"
code=0
shardscope merge part-*.csv >merged.csv 2>refused || code=$?
cat refused
[ "$code" = 2 ] && grep -q "missing: part 1/4;" refused || fail "merge ended with $code and did not name part 1/4"

job=$(sbatch --parsable --array=1 sweep.sbatch)
await "the end of job $job" ended "$job"
shardscope merge part-*.csv --out merged.csv --force
shardscope sweep "${sweep[@]}" --format csv --threads 2 >whole.csv
cmp merged.csv whole.csv
echo "slurm.sh: $(($(wc -l <whole.csv) - 1)) cells in 4 tasks, one killed and submitted again: the bytes of one sweep"
