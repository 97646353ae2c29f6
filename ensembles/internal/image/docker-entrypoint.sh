#!/bin/sh
# Does the part of the official image's entrypoint that zkbench relies on: writes
# zoo.cfg and myid only if they do not exist, gives the data to the zookeeper
# user, and runs the command as that user.
set -eu

conf=${ZOO_CONF_DIR:-/conf}
data=${ZOO_DATA_DIR:-/data}
if [ ! -f "$conf/zoo.cfg" ]; then
  printf '%s\n' "dataDir=$data" "dataLogDir=${ZOO_DATA_LOG_DIR:-/datalog}" tickTime=2000 \
    initLimit=5 syncLimit=2 clientPort=2181 admin.enableServer=false >"$conf/zoo.cfg"
fi
[ -f "$data/myid" ] || echo "${ZOO_MY_ID:-1}" >"$data/myid"

if [ "$(id -u)" = 0 ]; then
  chown -R zookeeper:zookeeper "$data" "${ZOO_DATA_LOG_DIR:-/datalog}"
  exec setpriv --reuid=zookeeper --regid=zookeeper --clear-groups "$@"
fi
exec "$@"
