# Every file that a bed's daemons read. Sourced by bed. Settings with a reason:
# - Slurm looks at argv[0]: started as slurmd-wlm it drops GPUs. Hence DIR/sbin with links.
# - cred_expire=5 (the least): a requeued job waits that long, 121 s by default.
# - config_overrides lets this machine pose as several larger ones.
# - Faulty nodes are detected in 10 s; KillWait 2 s ends tasks that ignore SIGTERM.

readonly BED_NETWORK=10.77 BED_SECOND_NETWORK=10.78

node_address() { # nI
    local index=${1#n}
    [[ $1 != ctl ]] || { echo $BED_NETWORK.255.1 && return; }
    echo "$BED_NETWORK.$((index / 250)).$((index % 250 + 1))"
}

node_names() { # n0 n1 ...
    local index
    for ((index = 0; index < NODES; index++)); do echo "n$index"; done
}

leaf_count() { echo $(((NODES + LEAF - 1) / LEAF)); }
leaf_of() { echo "leaf$((${1#n} / LEAF))"; }

# Options of up and serve, written to DIR/bed.conf for the commands that follow.
configure() {
    NODES=4 LEAF='' RATE=none TRUNK=none SECOND='' GPUS=8 SLURM=1 SSHD=1
    local extra=''
    while (($#)); do
        [[ $1 == --no-* ]] || (($# > 1)) || die "$1 needs a value"
        case $1 in
            --nodes) NODES=$2 ;;
            --leaf) LEAF=$2 ;;
            --rate) RATE=$2 ;;
            --trunk) TRUNK=$2 ;;
            --second) SECOND=$2 ;;
            --gpus) GPUS=$2 ;;
            --conf) extra+=$2$'\n' ;;
            --no-slurm) SLURM=0 ;;
            --no-sshd) SSHD=0 ;;
            *) die "unknown option '$1'" ;;
        esac
        [[ $1 == --no-* ]] && shift || shift 2
    done
    LEAF=${LEAF:-$(((NODES + 1) / 2))}
    [[ $NODES =~ ^[1-9][0-9]*$ && $LEAF =~ ^[1-9][0-9]*$ ]] && ((NODES <= 256)) ||
        die "--nodes $NODES --leaf $LEAF: 1 to 256 nodes, at least 1 on a leaf"
    chmod 755 "$DIR"
    declare -p NODES LEAF RATE TRUNK SECOND GPUS SLURM SSHD >"$DIR/bed.conf"
    mkdir -p "$DIR"/{log,sbin,dev,nodes,state,spool,hostproc,home/root,home/alice,home/bob}
    write_people
    write_munge
    write_slurm "$extra"
    write_ssh
}

write_people() {
    local name
    sed '/^root:/d' /etc/passwd >"$DIR/passwd"
    printf '%s:x:%s:%s::%s:/bin/bash\n' root 0 0 "$DIR/home/root" \
        alice 7001 7001 "$DIR/home/alice" bob 7002 7002 "$DIR/home/bob" >>"$DIR/passwd"
    { cat /etc/group && printf '%s\n' alice:x:7001: bob:x:7002:; } >"$DIR/group"
    chmod 700 "$DIR"/home/*
    {
        echo '127.0.0.1 localhost'
        for name in ctl $(node_names); do echo "$(node_address "$name") $name"; done
    } >"$DIR/hosts"
}

write_munge() {
    mkdir -p -m 700 "$DIR/munge" && mkdir -p -m 755 "$DIR/munge-run"
    head -c 1024 /dev/urandom >"$DIR/munge/key"
    chmod 400 "$DIR/munge/key"
}

write_slurm() { # EXTRA
    local name real index first last
    for name in slurmctld slurmd slurmstepd; do
        real=$(command -v "$name-wlm" || command -v "$name" || echo "/usr/sbin/$name")
        ln -s "$(readlink -f "$real")" "$DIR/sbin/$name"
    done
    for ((index = 0; index < GPUS; index++)); do ln -s /dev/null "$DIR/dev/nvidia$index"; done
    : >"$DIR/plugstack.conf"
    : >"$DIR/gres.conf"
    if ((GPUS > 0)); then
        printf 'AutoDetect=off\nNodeName=n[0-%d] Name=gpu Type=a100 File=%s\n' $((NODES - 1)) \
            "$DIR/dev/nvidia[0-$((GPUS - 1))]" >"$DIR/gres.conf"
    fi
    for ((index = 0; index < $(leaf_count); index++)); do
        first=$((index * LEAF)) last=$((index * LEAF + LEAF - 1))
        echo "SwitchName=leaf$index Nodes=n[$first-$((last < NODES ? last : NODES - 1))]"
    done >"$DIR/topology.conf"
    echo "SwitchName=spine Switches=leaf[0-$((index - 1))]" >>"$DIR/topology.conf"
    slurm_conf >"$DIR/slurm.conf"
    printf '%s' "$1" >>"$DIR/slurm.conf"
}

slurm_conf() {
    local gres=''
    ((GPUS == 0)) || gres="Gres=gpu:a100:$GPUS "
    cat <<TEXT
ClusterName=bed
SlurmctldHost=ctl($(node_address ctl))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$DIR/munge-run/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$DIR/state
SlurmdSpoolDir=$DIR/spool/%n
SlurmctldPidFile=$DIR/state/slurmctld.pid
SlurmdPidFile=$DIR/spool/%n.pid
SlurmctldLogFile=$DIR/log/slurmctld.log
SlurmdLogFile=$DIR/log/slurmd.%n.log
PlugStackConfig=$DIR/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_min_interval=100000
TopologyPlugin=topology/tree
TopologyParam=TopoOptional
SlurmdParameters=config_overrides
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout=10
InactiveLimit=0
KillWait=2
MinJobAge=300
BatchStartTimeout=10
MessageTimeout=10
PropagateResourceLimits=NONE
JobRequeue=1
GresTypes=gpu
DefMemPerCPU=100
NodeName=n[0-$((NODES - 1))] CPUs=16 RealMemory=4000 ${gres}State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP
TEXT
}

write_ssh() { # one host key for all nodes; every user comes in with the same key
    local user name
    mkdir -p "$DIR/ssh"
    ssh-keygen -q -t ed25519 -N '' -C bed -f "$DIR/ssh/host_key"
    ssh-keygen -q -t ed25519 -N '' -C bed -f "$DIR/ssh/id"
    for name in ctl $(node_names); do
        echo "$name,$(node_address "$name") $(cut -d' ' -f1,2 "$DIR/ssh/host_key.pub")"
    done >"$DIR/ssh/known_hosts"
    for user in root alice bob; do
        mkdir -p "$DIR/home/$user/.ssh"
        cp "$DIR/ssh/id" "$DIR/home/$user/.ssh/id_ed25519"
        cp "$DIR/ssh/known_hosts" "$DIR/home/$user/.ssh/"
        chmod 700 "$DIR/home/$user/.ssh"
    done
    chown -R 7001:7001 "$DIR/home/alice"
    chown -R 7002:7002 "$DIR/home/bob"
    cat >"$DIR/ssh/sshd_config" <<TEXT
Port 22
HostKey $DIR/ssh/host_key
AuthorizedKeysFile $DIR/ssh/id.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
Subsystem sftp internal-sftp
MaxStartups 500
MaxSessions 100
TEXT
}
