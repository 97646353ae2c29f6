# A static binary and nothing else, for ensembles that are there already, and for agents:
#
#   make image
#   docker run --rm --network host --user "$(id -u):$(id -g)" -v "$PWD:/work" zkbench:local run herd --servers zk1:2181 --set 'phases.1.faults=[]'
#
# It needs no registry, and runs as nobody in particular.
FROM scratch AS agent
ARG BINARY=dist/zkbench
COPY ${BINARY} /usr/bin/zkbench
COPY LICENSE /LICENSE
ENV HOME=/work TMPDIR=/work
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/usr/bin/zkbench"]

# With what drivers of other people's recipes run on: Python with kazoo, and Java with Curator.
#
#   docker build --target drivers -t zkbench-drivers:local .
FROM debian:bookworm-slim AS drivers
ARG BINARY=dist/zkbench
RUN apt-get update && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      python3-kazoo default-jre-headless libzookeeper-java libcurator-recipes-java libcurator-framework-java && \
    rm -rf /var/lib/apt/lists/*
COPY ${BINARY} /usr/bin/zkbench
COPY LICENSE /LICENSE
ENV HOME=/work TMPDIR=/work
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/usr/bin/zkbench"]
