# A static binary and nothing else, for ensembles that are there already:
#
#   make release && docker build -t zkbench .
#   docker run --rm --network host --user "$(id -u):$(id -g)" -v "$PWD:/work" zkbench run herd --servers zk1:2181 --set 'phases.1.faults=[]'
#
# It needs no registry, and runs as nobody in particular.
FROM scratch
ARG BINARY=dist/zkbench
COPY ${BINARY} /usr/bin/zkbench
COPY LICENSE /LICENSE
ENV HOME=/work TMPDIR=/work
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/usr/bin/zkbench"]
