#!/bin/sh
# Builds the local ZooKeeper image from Debian's packages, for machines that
# cannot pull the official image. It does nothing if the image exists.
#
#   sh build.sh NAME:VERSION        needs: root, mmdebstrap, a running Docker daemon
#
# VERSION is 3.8.0 (Debian 12) or 3.9.3 (Debian 13).
#
# The image has the interface of the official image: zoo.cfg in /conf and myid in
# /data are written only if they do not exist, then zkServer.sh start-foreground runs.
set -eu

image=${1:?usage: build.sh IMAGE}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
case $image in
  *:3.8.0) suite=bookworm java=openjdk-17-jre-headless ;;
  *:3.9.3) suite=trixie java=openjdk-21-jre-headless ;;
  *)
    echo "build.sh: no Debian release has the version of $image; supported are :3.8.0 and :3.9.3" >&2
    exit 2
    ;;
esac

if docker image inspect "$image" >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" != 0 ]; then
  echo "build.sh: building $image needs root; run it with sudo" >&2
  exit 1
fi
# One build at a time: a build that waited finds the image and does nothing.
if [ -z "${ZKBENCH_IMAGE_LOCKED:-}" ] && command -v flock >/dev/null; then
  ZKBENCH_IMAGE_LOCKED=1 exec flock /run/zkbench-image.lock sh "$0" "$@"
fi
if ! command -v mmdebstrap >/dev/null; then
  echo "build.sh: mmdebstrap is missing; install it: apt-get install mmdebstrap" >&2
  exit 1
fi
if ! docker version >/dev/null; then
  echo "build.sh: the Docker daemon does not answer" >&2
  exit 1
fi

work=$(mktemp -d)
training=zkbench-image-$$
clear_up() {
  rm -rf "$work"
  docker rm --force --volumes "$training" >/dev/null 2>&1 || true
  docker rmi "$training" >/dev/null 2>&1 || true
}
trap clear_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The packages come from this host's mirror if the host runs the same Debian release,
# otherwise from mmdebstrap's default mirror. The host's apt proxy is used, too.
apt_args=
if command -v apt-config >/dev/null; then
  apt-config dump | grep -E '^Acquire::(http|https)::.*[Pp]roxy' >"$work/proxy.conf" || true
  apt_args="--aptopt=$work/proxy.conf"
  # shellcheck disable=SC2016
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    grep -E " $suite(-updates|-security)? main\$" | sort -u >"$work/sources.list" || true
fi
grep -q " $suite main\$" "$work/sources.list" 2>/dev/null || : >"$work/sources.list"
sources=
[ -s "$work/sources.list" ] && sources=$work/sources.list

# Unneeded files are removed after the installation, since the JRE's install scripts
# need the manual's folders. So are the settings of the mirror and the proxy.
# shellcheck disable=SC2016,SC2086
mmdebstrap --quiet --variant=minbase --include=libzookeeper-java,$java \
  $apt_args \
  --customize-hook='chroot "$1" useradd --system --no-create-home --shell /usr/sbin/nologin zookeeper' \
  --customize-hook='mkdir -p "$1/conf" "$1/data" "$1/datalog" "$1/logs"' \
  --customize-hook='chroot "$1" chown zookeeper:zookeeper /conf /data /datalog /logs' \
  --customize-hook="install -m 755 '$here/zkServer.sh' '$here/docker-entrypoint.sh' \"\$1/usr/local/bin/\"" \
  --customize-hook='rm -rf "$1"/usr/share/doc "$1"/usr/share/man "$1"/usr/share/locale "$1"/usr/share/info "$1"/usr/share/maven-repo' \
  --customize-hook='rm -rf "$1"/usr/share/fonts "$1"/usr/share/zoneinfo/right "$1"/usr/share/java/eclipse-jdt-core*' \
  --customize-hook='rm -f "$1"/usr/lib/jvm/java-*-openjdk-*/lib/ct.sym "$1"/usr/lib/jvm/java-*-openjdk-*/lib/server/classes_nocoops.jsa' \
  --customize-hook='rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/var/lib/apt/lists' \
  "$suite" "$work/root.tar" $sources

version=${image##*:}
if ! tar tf "$work/root.tar" | grep -q "/usr/share/java/zookeeper-$version.jar\$"; then
  echo "build.sh: $suite's ZooKeeper is not version $version; name the image after the version that it contains" >&2
  exit 1
fi

import() {
  docker import \
    --change 'ENV ZOO_CONF_DIR=/conf ZOO_DATA_DIR=/data ZOO_DATA_LOG_DIR=/datalog ZOO_LOG_DIR=/logs' \
    --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change 'VOLUME ["/data","/datalog","/logs"]' \
    --change 'EXPOSE 2181 2888 3888 8080' \
    --change 'ENTRYPOINT ["docker-entrypoint.sh"]' \
    --change 'CMD ["zkServer.sh","start-foreground"]' \
    "$work/root.tar" "$1" >/dev/null
}

# A first image runs a server once, to learn which classes a start loads (see
# zkServer.sh). Without this step the image works, but servers start slower.
import "$training"
mkdir -p "$work/extra/usr/lib/zookeeper"
if docker run --name "$training" --network none --entrypoint bash "$training" \
  -c "$(cat "$here/train.sh")" >"$work/train.log" 2>&1 &&
  docker cp "$training:/tmp/classes.jsa" "$work/extra/usr/lib/zookeeper/" >/dev/null; then
  chmod 644 "$work/extra/usr/lib/zookeeper/classes.jsa"
  tar --append --owner=0 --group=0 -C "$work/extra" -f "$work/root.tar" ./usr/lib/zookeeper
else
  echo "build.sh: the archive of classes could not be created, so servers start slower:" >&2
  tail -n 5 "$work/train.log" >&2
fi
import "$image"
