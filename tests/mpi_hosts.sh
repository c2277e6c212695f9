#!/bin/bash
# mpi_hosts.sh - tests gzlzss-mpi on several hosts, which are network namespaces of this machine
#
#   GZLZSS_COMMAND=/path/to/gzlzss GEN=/path/to/tests/gen tests/mpi_hosts.sh [HOSTS]
#
# Run this script by hand, as root.  The script makes HOSTS (default 2) namespaces, each with a name
# and an address, and a bridge between the namespaces.  At the end, the script removes the
# namespaces and the bridge.  Two ranks on each host compress and decompress a file.  The ranks
# reach other hosts only by TCP, so MPI treats the hosts as different machines that share a file
# system.  Then the script kills the ranks of one host.  MPIRUN is an mpirun of Open MPI or MPICH.
# mpirun starts the ranks on the hosts by a script that enters a namespace, in place of ssh.
set -u

hosts=${1-2}
gzlzss=${GZLZSS_COMMAND:?must be the path of gzlzss}
mpi=$(dirname "$gzlzss")/gzlzss-mpi
mpirun=${MPIRUN:-mpirun}
gen=${GEN:?must be the path of tests/gen}
if [ "$(id -u)" -ne 0 ] || ! command -v ip >/dev/null; then
    echo "mpi_hosts.sh: this takes root, and ip of iproute2" >&2
    exit 2
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset GZLZSS GZIP

net=10.77.7 tag=gz$$
work=$(mktemp -d) && cd "$work" || exit 1
cleanup() {
    local i
    for ((i = 1; i <= hosts; i++)); do
        ip netns del "$tag-$i"
    done
    ip netns del "$tag-0"
    rm -rf "$work"
}
trap cleanup EXIT

# The bridge has its own namespace, so that the machine's network stays as it is.
ip netns add "$tag-0" && ip -n "$tag-0" link add bridge type bridge &&
    ip -n "$tag-0" link set bridge up || exit 1
for ((i = 1; i <= hosts; i++)); do
    ip netns add "$tag-$i" &&
        ip -n "$tag-0" link add "port$i" type veth peer name eth0 netns "$tag-$i" &&
        ip -n "$tag-0" link set "port$i" master bridge up &&
        ip -n "$tag-$i" addr add "$net.$i/24" dev eth0 &&
        ip -n "$tag-$i" link set eth0 up && ip -n "$tag-$i" link set lo up || exit 1
done

# MPI calls this script like ssh: agent [OPTION]...  ADDRESS COMMAND...
cat >agent <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
number=\${1##*.}
shift
exec ip netns exec "$tag-\$number" unshare --uts sh -c "hostname host\$number; \$*"
END
chmod +x agent

# run ARGUMENT...: runs mpirun on the first host, which starts two ranks on each host.
list=
for ((i = 1; i <= hosts; i++)); do
    list+=${list:+,}$net.$i
done
run() {
    local options
    if "$mpirun" --version 2>&1 | grep -q -e 'Open MPI' -e OpenRTE; then
        options="--mca plm_rsh_agent $work/agent --mca oob_tcp_if_include $net.0/24
            --mca btl_tcp_if_include $net.0/24 --host ${list//,/:2,}:2 --bind-to none"
    else
        options="-launcher ssh -launcher-exec $work/agent -hosts $list"
    fi
    # shellcheck disable=SC2086 # The shell splits it into words.
    timeout 100 "$work/agent" "$net.1" "$mpirun" $options -n $((2 * hosts)) "$mpi" "$@"
}

fail() {
    echo "mpi_hosts.sh: $*" >&2
    exit 1
}

"$gen" source 20000000 >x
cp x plain
"$gzlzss" -c x >want
run -p1 -vv x || fail "compression failed"
cmp want x.gz || fail "the output differs"
[ ! -e x ] || fail "the input is still there"
run -p1 -v -d x.gz || fail "decompression failed"
cmp plain x || fail "what comes back differs"

# Kill the ranks of the last host soon after the ranks have begun the output.  When one rank is
# dead, MPI may end other ranks before the loop kills them.
run -p1 -9 x >log 2>&1 &
job=$!
for ((i = 0; i < 200; i++)); do
    [ -z "$(find . -name '.gzlzss-*')" ] || break
    sleep 0.02
done
killed=0
for pid in $(ip netns pids "$tag-$hosts"); do
    if [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$mpi")" ]; then
        kill -KILL "$pid"
        killed=$((killed + 1))
    fi
done
wait $job
echo "after $killed ranks of host$hosts were killed, mpirun ended with status $?"
cmp plain x || fail "the input is lost"
[ ! -e x.gz ] || cmp want x.gz || fail "there is a part of an output"
[ "$killed" -gt 0 ] || fail "the ranks were over before they could be killed"
echo "ranks on $hosts hosts: all is well; left: $(find . -name '.gzlzss-*' | wc -l) temporary files"
