#!/bin/sh
# Runs one ZooKeeper server in the foreground, from Debian's jars, with the same
# variables as the zkServer.sh of the official image: ZK_SERVER_HEAP (MB),
# SERVER_JVMFLAGS, JVMFLAGS and ZOO_CONF_DIR.
set -eu

if [ "${1:-}" != start-foreground ]; then
  echo "usage: zkServer.sh start-foreground   (this image supports no other command)" >&2
  exit 2
fi
jars=/usr/share/java
# Classes that were loaded when the image was built need not be read and verified
# again: this saves a quarter of the work of a start and has no later effect.
# A JVM ignores an archive that does not fit.
archive=/usr/lib/zookeeper/classes.jsa
[ -f "$archive" ] && SERVER_JVMFLAGS="-XX:SharedArchiveFile=$archive ${SERVER_JVMFLAGS:-}"
# Word splitting of the flags is intended: they are lists of words.
# shellcheck disable=SC2086
exec java "-Xmx${ZK_SERVER_HEAP:-1000}m" ${SERVER_JVMFLAGS:-} ${JVMFLAGS:-} \
  -Dorg.slf4j.simpleLogger.showDateTime=true \
  "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS" \
  -cp "$jars/zookeeper.jar:$jars/slf4j-simple.jar:$jars/netty-codec.jar:$jars/netty-resolver.jar" \
  org.apache.zookeeper.server.quorum.QuorumPeerMain "${ZOO_CONF_DIR:-/conf}/zoo.cfg"
