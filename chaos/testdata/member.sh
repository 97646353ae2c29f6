#!/bin/bash
# A member of somebody's ensemble, to be driven by commands: member.sh FOLDER WORD [PEERS].
# The folder holds, each in a file, the member's pid, its command line (command, one argument a
# line, the last one its zoo.cfg), and its network namespace (net).
set -eu
cd "$1"
pid=$(cat pid)
gone() {
  while kill -0 "$pid" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null; do sleep 0.02; done
}
inside() { nsenter "--net=$(cat net)" "$@"; }
case $2 in
  stop) kill "$pid" && gone ;;
  kill) kill -9 "$pid" && gone ;;
  pause) kill -STOP "$pid" ;;
  resume) kill -CONT "$pid" ;;
  start)
    mapfile -t command <command
    # Not by the function, whose pid would be a shell's.
    nsenter "--net=$(cat net)" setsid "${command[@]}" >>log 2>&1 </dev/null &
    echo $! >pid
    ;;
  isolate)
    if [ "$3" = all ]; then
      inside ip link set eth0 down
    else
      for peer in ${3//,/ }; do inside ip route add blackhole "$peer"; done
    fi
    ;;
  heal)
    inside ip link set eth0 up
    inside ip route flush type blackhole
    ;;
  log)
    config=$(tail -n 1 command)
    tar -C "$(dirname "$config")/data" -c version-2
    ;;
  *) exit 2 ;;
esac
