# The first processes: of the fabric (switches, munged) and of each node, and what they start.
# DIR/nodes/NAME/pid is the machine's pid of a node's first process. Sourced by bed.

stay() { # as a first process: reaps what its children leave, until it is killed
    local keeper
    sleep infinity &
    keeper=$!
    while kill -0 "$keeper"; do wait; done
}

fabric() {
    exec 3>&1 1>"$DIR/log/fabric.log" 2>&1
    record_self "$DIR/fabric.pid" /proc
    mount --bind /proc "$DIR/hostproc"
    mount -t proc proc /proc
    HOSTNAME=fabric
    hostname fabric
    mount --bind "$DIR/hosts" /etc/hosts
    mkdir "$DIR/small"
    mount -t tmpfs -o size=8m,nr_inodes=500,mode=1777 tmpfs "$DIR/small"
    export SLURM_CONF=$DIR/slurm.conf
    ((SLURM == 0)) || start_daemon munged
    make_switches
    mkfifo "$DIR/booted"
    mkdir "$DIR/nodes/ctl" $(node_names | sed "s|^|$DIR/nodes/|")
    if boot ctl $(node_names) && await_slurm; then
        echo ready >&3
    else
        echo "not up after ${SECONDS} s; the last lines of its logs:" >&3
        tail -n 5 "$DIR"/log/* >&3
        exit 1 # ends every process of the bed
    fi
    exec 3>&-
    stay
}

await_slurm() { # until every node is idle, 30 s at most
    local idle=0 ctl
    ((SLURM == 1)) || return 0
    read -r ctl <"$DIR/nodes/ctl/fabric-pid"
    while ((idle < NODES)); do
        ((SECONDS < 30)) || return 1
        idle=$(nsenter -t "$ctl" --net -- timeout 2 sinfo -h -o '%D %T' 2>/dev/null |
            awk '$2 == "idle" { n += $1 } END { print n + 0 }')
        ((idle == NODES)) || sleep 0.02
    done
}

boot() { # NODE...: in the fabric; returns when their network is there and daemons are starting
    local name booted child plugs=()
    local -A parents
    exec {booted}<>"$DIR/booted"
    for name in "$@"; do
        [[ -p $DIR/nodes/$name/go ]] || mkfifo "$DIR/nodes/$name/go"
        [[ -e $DIR/nodes/$name/rate ]] || echo "$RATE" >"$DIR/nodes/$name/rate"
        [[ -e $DIR/nodes/$name/network ]] || write_network "$name"
        setsid unshare --net --uts --ipc --mount --pid --fork --kill-child=SIGKILL \
            --propagation private bash "$BED" _node "$DIR" "$name" \
            </dev/null 3>&- >"$DIR/log/boot.$name.log" 2>&1 &
        parents[$name]=$!
    done
    for name in "$@"; do
        read -r -t 20 -u "$booted" name || return 1
        child=$(<"/proc/${parents[$name]}/task/${parents[$name]}/children")
        echo "${child% }" >"$DIR/nodes/$name/fabric-pid"
        plugs+=("$name" "${child% }")
    done
    exec {booted}>&-
    plug "${plugs[@]}" || return 1
    for name in "$@"; do
        read -r child <"$DIR/nodes/$name/rate"
        [[ $child == none || $name == ctl ]] || limit "v-$name" "$child"
        [[ ! $SECOND || $name == ctl ]] || limit "w-$name" "$SECOND"
        echo >"$DIR/nodes/$name/go"
        [[ $name != ctl ]] || await_controller
    done
}

# A slurmd that finds no slurmctld tries again a second later: nodes wait until it listens.
await_controller() {
    local line tries ctl
    ((SLURM == 1)) || return 0
    read -r ctl <"$DIR/nodes/ctl/fabric-pid"
    for ((tries = 0; tries < 200; tries++)); do
        while read -r line; do # local address :6817, no peer, state LISTEN
            [[ $line != *:1AA1\ 00000000:0000\ 0A* ]] || return 0
        done <"/proc/$ctl/net/tcp"
        sleep 0.01
    done
}

node() { # NAME: the first process of a node
    local state=$DIR/nodes/$1 rate
    HOSTNAME=$1
    record_self "$state/pid.new" "$DIR/hostproc"
    umount "$DIR/hostproc"
    mount -t proc proc /proc
    hostname "$HOSTNAME"
    mount --bind "$DIR/hosts" /etc/hosts
    mount --bind "$DIR/passwd" /etc/passwd
    mount --bind "$DIR/group" /etc/group
    mount -t tmpfs tmpfs /run
    mount -t tmpfs -o size=2g,mode=1777 tmpfs /dev/shm
    mkdir /run/sshd
    cat /proc/sys/kernel/random/uuid >"$state/boot_id" # different on each node and after each boot
    mount --bind "$state/boot_id" /proc/sys/kernel/random/boot_id
    mv "$state/pid.new" "$state/pid"
    echo "$HOSTNAME" >"$DIR/booted"
    read -r <"$state/go"
    ip -batch "$state/network"
    read -r rate <"$state/rate"
    [[ $rate == none || $HOSTNAME == ctl ]] || limit eth0 "$rate"
    [[ ! $SECOND || $HOSTNAME == ctl ]] || limit eth1 "$SECOND"
    if ((SLURM == 1)); then
        [[ $HOSTNAME == ctl ]] && start_daemon slurmctld || start_daemon slurmd
    fi
    ((SSHD == 0)) || start_daemon sshd
    stay
}

start_daemon() { # NAME: on the machine where this runs; its number there goes into a file
    local at=$DIR/nodes/$HOSTNAME command
    [[ $1 != munged ]] || at=$DIR/munge-run
    export SLURM_CONF=$DIR/slurm.conf
    case $1 in
        munged)
            rm -f "$DIR"/munge-run/socket*
            command=(munged --foreground --force --key-file="$DIR/munge/key" --num-threads=8
                --socket="$DIR/munge-run/socket" --pid-file="$DIR/munge/pid"
                --log-file="$DIR/munge/log" --seed-file="$DIR/munge/seed")
            ;;
        slurmctld) command=("$DIR/sbin/slurmctld" -D -i) ;;
        slurmd) mkdir -p "$DIR/spool/$HOSTNAME" &&
            command=("$DIR/sbin/slurmd" -D -d "$DIR/sbin/slurmstepd") ;;
        sshd) command=(/usr/sbin/sshd -D -f "$DIR/ssh/sshd_config" -E "$DIR/log/sshd.$HOSTNAME.log") ;;
        *) die "no daemon '$1'; known: munged slurmctld slurmd sshd" ;;
    esac
    setsid "${command[@]}" </dev/null 3>&- >>"$DIR/log/$1.$HOSTNAME.out" 2>&1 &
    echo $! >"$at/$1.pid"
}

power() { # NODE off|crash|on
    local state=$DIR/nodes/$1
    case $2 in
        off | crash)
            alive "$state/pid" || die "$1 is off already"
            # A kill alone closes its connections, and peers hear that; a node without power is mute.
            [[ $2 == crash ]] || in_fabric ip link set "v-$1" down
            kill -KILL "$(pid_in "$state/pid")"
            await_end "$state/pid"
            ;;
        on)
            ! alive "$state/pid" || die "$1 is on already"
            in_fabric bash "$BED" _boot "$DIR" "$1"
            ;;
        *) die "power $1 $2: off, crash or on" ;;
    esac
}

daemon() { # NAME[@NODE] stop|kill|start|freeze|thaw
    local name=${1%@*} node=${1#*@} at into pid
    [[ $1 == *@* || $1 == slurmctld || $1 == munged ]] || die "on which node? $1@n0"
    [[ $1 == *@* ]] || node=ctl
    if [[ $name == munged ]]; then
        at=$DIR/munge-run into=in_fabric
    else
        is_node "$node"
        at=$DIR/nodes/$node into="bash $BED exec $DIR $node"
    fi
    if [[ $2 == start ]]; then
        $into bash "$BED" _start "$DIR" "$name"
        return
    fi
    [[ -e $at/$name.pid ]] || die "no $name was started on $node"
    read -r pid <"$at/$name.pid"
    case $2 in
        stop) $into kill -TERM "$pid" ;;
        kill) $into kill -KILL "$pid" ;;
        freeze) $into kill -STOP "$pid" ;;
        thaw) $into kill -CONT "$pid" ;;
        *) die "daemon $1 $2: stop, kill, start, freeze or thaw" ;;
    esac
}

disk() { # full|free: full has neither space nor inodes
    case $1 in
        full)
            in_fabric bash -c 'exec 2>/dev/null
                cat /dev/zero >"$1-0"
                for ((i = 1; i < 1000; i++)); do : >"$1-$i"; done
                true' disk "$DIR/small/filler"
            ;;
        free) in_fabric bash -c 'rm -f "$1"*' disk "$DIR/small/filler" ;;
        *) die "disk $1: full or free" ;;
    esac
}

heal() { # whatever was done to it
    local name daemons=()
    disk free
    in_fabric bash -c 'for link in "$@"; do ip link set "$link" up 2>/dev/null; done; true' heal \
        $(printf 'v-%s ' ctl $(node_names)) $(seq -f 'up-leaf%.0f' 0 $(($(leaf_count) - 1)))
    ((SLURM == 0)) || in_fabric bash "$BED" _revive "$DIR" munged
    for name in ctl $(node_names); do
        if ! alive "$DIR/nodes/$name/pid"; then
            [[ $RATE == $(<"$DIR/nodes/$name/rate") ]] || echo "$RATE" >"$DIR/nodes/$name/rate"
            power "$name" on
            continue
        fi
        [[ $RATE == $(<"$DIR/nodes/$name/rate") ]] || shape "$name" "$RATE"
        daemons=()
        ((SLURM == 0)) || daemons=($([[ $name == ctl ]] && echo slurmctld || echo slurmd))
        ((SSHD == 0)) || daemons+=(sshd)
        ((${#daemons[@]} == 0)) || (enter "$name" bash "$BED" _revive "$DIR" "${daemons[@]}")
    done
}

revive() { # NAME...: where this runs: thawed when stopped, started when not there
    local name at=$DIR/nodes/$HOSTNAME pid
    for name in "$@"; do
        [[ $name != munged ]] || at=$DIR/munge-run
        read -r pid <"$at/$name.pid"
        kill -CONT "$pid" 2>/dev/null || start_daemon "$name"
    done
}

status() {
    local name
    alive "$DIR/bed.pid" || { echo "$DIR: no bed is up" && return 1; }
    for name in ctl $(node_names); do
        alive "$DIR/nodes/$name/pid" && echo "$name on" || echo "$name off"
    done
    ((SLURM == 0)) || (enter ctl sinfo)
}
