#!/bin/bash
# Runs inside a container without a network: starts a quorum of one server, queries
# its status and stops it, so that the JVM writes the archive of the classes that it used.
set -eu

mkdir /tmp/conf
echo 1 >/data/myid
printf '%s\n' dataDir=/data tickTime=2000 initLimit=5 syncLimit=2 standaloneEnabled=false \
  admin.enableServer=false '4lw.commands.whitelist=*' \
  'server.1=127.0.0.1:2888:3888;2181' >/tmp/conf/zoo.cfg
ZOO_CONF_DIR=/tmp/conf SERVER_JVMFLAGS='-XX:+UseSerialGC -XX:ArchiveClassesAtExit=/tmp/classes.jsa' \
  zkServer.sh start-foreground &

leads() {
  (exec 3<>/dev/tcp/127.0.0.1/2181 && printf srvr >&3 && grep -q '^Mode: leader' <&3) 2>/dev/null
}
for _ in $(seq 300); do
  if leads; then
    kill $!
    wait $! || true # a JVM that a signal has stopped exits with an error code
    test -s /tmp/classes.jsa
    exit
  fi
  sleep 0.1
done
echo 'the server did not lead within 30 s'
exit 1
