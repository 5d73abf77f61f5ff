# Processes known by number and start time, so that a number used again is never taken for ours.
# Sourced by bed.

start_of() { # PID: its start time; nothing when it has ended
    local fields
    read -ra fields 2>/dev/null <"/proc/$1/stat" && [[ ${fields[2]} != Z ]] && echo "${fields[21]}"
}

record() { echo "$2 $(start_of "$2")" >"$1"; } # FILE PID

record_self() { # FILE PROC: this shell, as a proc file system of another namespace numbers it
    local fields
    read -ra fields <"$2/self/stat"
    echo "${fields[0]} ${fields[21]}" >"$1"
}

pid_in() { # FILE
    local pid
    read -r pid _ <"$1" && echo "$pid"
}

alive() { # FILE
    local pid start
    { read -r pid start <"$1"; } 2>/dev/null && [[ $start && $(start_of "$pid") == "$start" ]]
}

await_end() { # FILE: waits until that process has ended, 10 s at most
    local tries
    for ((tries = 0; tries < 1000; tries++)); do
        alive "$1" || return 0
        sleep 0.01
    done
    die "process $(pid_in "$1") does not end"
}
