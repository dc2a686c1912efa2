#!/bin/sh
# The scripts for Slurm in doc/CLUSTER.md, on a Slurm of its own: a controller and four nodes on
# this machine.  Task 5 of the array is killed in the middle and requeued, task 3 runs twice
# at once; the assembled model is that of one go.
. "${srcdir:-.}/tests/cli/lib.sh"
. "${srcdir:-.}/tests/cluster/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
for tool in munged slurmctld slurmd sbatch squeue scontrol; do
	command -v $tool >/dev/null || skip "no $tool"
done
port=$((20000 + $$ % 20000))
host=$(hostname -s)
me=$(id -un)

# ---- a Slurm ----

pids=
stop() {
	for pid in $pids; do
		kill "$pid" 2>/dev/null
	done
	wait
	rm -rf "$T"
}
trap stop EXIT
mkdir -m 700 "$T/munge" "$T/state"
(umask 077; head -c 64 /dev/urandom >"$T/munge/key")
munged --foreground --force --key-file="$T/munge/key" --socket="$T/munge/socket" \
	--pid-file="$T/munge/pid" --log-file="$T/munge/log" --seed-file="$T/munge/seed" 2>"$T/munge.err" &
pids=$!
{
	cat <<-END
		ClusterName=tbtui
		SlurmctldHost=$host(127.0.0.1)
		SlurmctldPort=$port
		AuthType=auth/munge
		AuthInfo=socket=$T/munge/socket
		CredType=cred/munge
		SlurmUser=$me
		SlurmdUser=$me
		StateSaveLocation=$T/state
		SlurmdSpoolDir=$T/spool.%n
		SlurmctldPidFile=$T/slurmctld.pid
		SlurmdPidFile=$T/slurmd.%n.pid
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SwitchType=switch/none
		MpiDefault=none
		PlugStackConfig=/dev/null
		SelectType=select/linear
		ReturnToService=2
		AccountingStorageType=accounting_storage/none
		JobAcctGatherType=jobacct_gather/none
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=10000
	END
	for i in 1 2 3 4; do
		echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=1 State=UNKNOWN"
	done
	echo "PartitionName=all Nodes=n1,n2,n3,n4 Default=YES MaxTime=INFINITE State=UP"
} >"$T/slurm.conf"
SLURM_CONF=$T/slurm.conf
export SLURM_CONF
i=0
while [ ! -S "$T/munge/socket" ] && [ $i -lt 100 ]; do
	i=$((i + 1))
	sleep 0.1
done
slurmctld -D -L "$T/slurmctld.log" 2>/dev/null &
pids="$pids $!"
for i in 1 2 3 4; do
	slurmd -D -N n$i -L "$T/slurmd.$i.log" 2>/dev/null &
	pids="$pids $!"
done
i=0
until [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 4 ]; do
	i=$((i + 1))
	[ $i -lt 300 ] || { tail -5 "$T"/*.log "$T/munge.err"; skip "Slurm does not come up"; }
	sleep 0.2
done

# ---- the scripts ----

# until_gone JOB...: none of them is waiting or running.
until_gone() {
	i=0
	while squeue -h -t pending,running,configuring,completing -j "$1" 2>/dev/null | grep -q .; do
		i=$((i + 1))
		[ $i -lt 300 ] || fail "job $1 does not end: $(squeue)"
		sleep 0.2
	done
}
state() {
	scontrol show job "$1" | tr ' ' '\n' | sed -n 's/^JobState=//p' | sort -u
}
cd "$T" || exit 99
make_models
for part in slurm assemble; do
	sed -n "/^\`\`\`$part/,/^\`\`\`/p" "$OLDPWD/$srcdir/doc/CLUSTER.md" | grep -v '^```' >"$T/$part.sh"
	[ -s "$T/$part.sh" ] || fail "no script in doc/CLUSTER.md"
done
job=$(sbatch --parsable "$T/slurm.sh") || fail "sbatch"
again=$(sbatch --parsable --array=3 "$T/slurm.sh") || fail "sbatch"
until_gone "$job"
until_gone "$again"
grep -q '^137 .* 5/8$' "$T/codes" || fail "task 5 was not killed"
[ "$(state "${job}_5")" = FAILED ] || fail "task 5: $(state "${job}_5")"
expect 2 "$REAL" -s "$STORE" quantize "$SRC" "$DST" -q int4 --assemble
err_has 'are not there yet'
scontrol requeue "${job}_5" || fail "task 5 is not requeued"
scontrol update JobId="${job}_5" StartTime=now	# Slurm would wait for two minutes
until_gone "$job"
for i in 1 2 3 4 5 6 7 8; do
	[ "$(state "${job}_$i")" = COMPLETED ] || fail "task $i: $(state "${job}_$i"); $(cat slurm-*.out)"
done
after=$(sbatch --parsable --dependency=afterany:"$job" "$T/assemble.sh") || fail "sbatch"
until_gone "$after"
[ "$(state "$after")" = COMPLETED ] || fail "assemble: $(cat "slurm-$after.out")"
is_whole
expect 0 "$REAL" -s "$STORE" verify
has_not leftover
echo "array of 8 on 4 nodes, task 5 killed and requeued, task 3 done twice: the same bytes"
exit 0
