# Switches, cables, rates and loss. A node's cable is the veth pair v-NODE (at its switch) and eth0
# (in the node), with --second also w-NODE and eth1; a trunk is up-LEAF (at the leaf) and down-LEAF (at
# the spine). Sourced by bed.

hardware_address() { # A.B.C.D: fixed, so that a node is known again after it was off
    local IFS=.
    set -- $1
    printf '02:77:%02x:%02x:%02x:%02x' "$1" "$2" "$3" "$4"
}

second_address() { # nI: on eth1
    echo "$BED_SECOND_NETWORK.$((${1#n} / 250)).$((${1#n} % 250 + 1))"
}

switch_of() { [[ $1 == ctl ]] && echo spine || leaf_of "$1"; }

make_switches() { # in the fabric, once
    local index leaf
    {
        echo 'link set lo up'
        echo 'link add spine type bridge'
        echo 'link set spine up'
        [[ ! $SECOND ]] || printf 'link add second type bridge\nlink set second up\n'
        for ((index = 0; index < $(leaf_count); index++)); do
            leaf=leaf$index
            echo "link add $leaf type bridge"
            echo "link set $leaf up"
            echo "link add up-$leaf txqueuelen 1000 type veth peer name down-$leaf txqueuelen 1000"
            echo "link set up-$leaf master $leaf up"
            echo "link set down-$leaf master spine up"
        done
    } | ip -batch -
    [[ $TRUNK != none ]] || return 0
    for ((index = 0; index < $(leaf_count); index++)); do
        limit "up-leaf$index" "$TRUNK" && limit "down-leaf$index" "$TRUNK"
    done
}

# Peers are fixed entries: the kernel's limit of learned ones counts all namespaces together, and
# packets to a node that is off vanish instead of coming back as errors.
write_network() { # NODE: what its first process runs
    local name address
    {
        echo 'link set lo up'
        echo "address add $(node_address "$1")/16 dev eth0"
        echo 'link set eth0 up'
        if [[ $SECOND && $1 != ctl ]]; then
            echo "address add $(second_address "$1")/16 dev eth1"
            echo 'link set eth1 up'
        fi
        while read -r address name; do
            [[ $name == localhost || $name == "$1" ]] || echo "neighbour replace $address lladdr" \
                "$(hardware_address "$address") dev eth0 nud permanent"
        done <"$DIR/hosts"
    } >"$DIR/nodes/$1/network"
}

plug() { # NODE PID...: in the fabric; PID: the node's first process
    local name
    while (($#)); do
        name=$1
        # A node that was off may leave its end of the cable for a moment.
        ! ip link show "v-$name" >/dev/null 2>&1 || ip link delete "v-$name" 2>/dev/null || true
        ! ip link show "w-$name" >/dev/null 2>&1 || ip link delete "w-$name" 2>/dev/null || true
        echo "link add v-$name txqueuelen 1000 type veth peer name eth0 txqueuelen 1000 address" \
            "$(hardware_address "$(node_address "$name")") netns $2"
        echo "link set v-$name master $(switch_of "$name") up"
        if [[ $SECOND && $name != ctl ]]; then
            echo "link add w-$name txqueuelen 1000 type veth peer name eth1 txqueuelen 1000 netns $2"
            echo "link set w-$name master second up"
        fi
        shift 2
    done | ip -batch -
}

limit() { # DEVICE RATE, in this network namespace
    tc qdisc delete dev "$1" root 2>/dev/null || true
    [[ $2 != none ]] || return 0
    tc qdisc add dev "$1" root handle 1: htb default 1
    tc class add dev "$1" parent 1: classid 1:1 htb rate "$2" ceil "$2" burst 128k cburst 128k \
        quantum 60000
    tc qdisc add dev "$1" parent 1:1 handle 10: bfifo limit 1m
}

limit_in() { # PID DEVICE RATE: in the network namespace of that process
    nsenter -t "$1" --net -- bash -c "$(declare -f limit); limit \"\$@\"" limit "$2" "$3"
}

shape() { # NODE|LEAF RATE|none
    alive "$DIR/fabric.pid" || die "$DIR: no bed is up"
    local fabric
    fabric=$(pid_in "$DIR/fabric.pid")
    if [[ $1 == leaf* ]]; then
        limit_in "$fabric" "up-$1" "$2" && limit_in "$fabric" "down-$1" "$2"
        return
    fi
    is_node "$1"
    echo "$2" >"$DIR/nodes/$1/rate"
    limit_in "$fabric" "v-$1" "$2"
    ! alive "$DIR/nodes/$1/pid" || limit_in "$(pid_in "$DIR/nodes/$1/pid")" eth0 "$2"
}

loss() { # NODE PERCENT: at its ingress; the kernel's netem is not everywhere
    is_node "$1"
    alive "$DIR/nodes/$1/pid" || die "$1 is off"
    local per_10000 rules='table netdev loss
delete table netdev loss'
    per_10000=$(awk -v percent="$2" 'BEGIN { printf "%d", percent * 100 }')
    if ((per_10000 > 0)); then
        rules+="
table netdev loss { chain in { type filter hook ingress device eth0 priority 0;
    numgen random mod 10000 < $per_10000 drop; } }"
    fi
    nsenter -t "$(pid_in "$DIR/nodes/$1/pid")" --net -- nft -f - <<<"$rules"
}
