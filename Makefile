# make bench    see the herd effect on this machine
# make test     run every test
# make soak     500 trials at random; SOAK=n for n, SOAK_SEED=n to begin with that seed,
#               SOAK_SUBJECT=lock/mine,... for recipes of your choice
# make lint     what must be clean before a commit
# make prose    check the words of comments and pages with Vale, which takes two minutes to build
# make gallery  run every scenario in small, and renew docs/gallery; some 30 minutes on a quiet
#               machine; ONLY='herd audit' runs these again, and keeps the others' last runs
# make audits   audit every version of other projects' recipes that make versions has installed; some
#               40 minutes, for docs/gallery/audits.md
# make release  a static binary in dist/: the same commit gives the same bytes
# make image    the image of that binary, which agents in Kubernetes need, as zkbench:local
# make test-kubernetes  agents on a real Kubernetes of three nodes, built here; some 20 minutes the
#               first time, needs root
# make setup    install what is missing; bench and test do it too
# make versions install several versions of ZooKeeper, Curator and kazoo side by side, in the user's
#               cache folder; a minute and a half, 100 MB, no root
# make clean    remove what was built, and ensembles that crashed runs left

.PHONY: help setup versions build release image bench gallery audits test test-race test-rest test-kubernetes soak lint prose clean

help:
	@sed -n '/^# make\|^#  /s/^# //p' Makefile

setup:
	@.ci/setup

versions:
	@.ci/versions

# The revision is built in where there is one to be had. A static binary can go
# into any container.
stamp := $(shell git status >/dev/null 2>&1 && echo true || echo false)
build:
	CGO_ENABLED=0 go build -buildvcs=$(stamp) -o bin/zkbench ./cmd/zkbench

# The paths of this machine stay out of it, so that anybody can build the same bytes.
release:
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(stamp) -ldflags='-s -w' -o dist/zkbench ./cmd/zkbench

image: release
	docker build --target agent -t zkbench:local .

bench: setup build
	bin/zkbench run herd

gallery: build
	@.ci/setup foreign
	.ci/gallery $(ONLY)

audits: build
	@.ci/setup foreign
	.ci/gallery --audits

# The race detector needs a C compiler. It is for code of ours that has goroutines
# and no go-zookeeper: that library races with itself when it reconnects
# (sendSetWatches reads lastZxid while recvLoop writes it, v1.0.4), and tests that cut
# connections would fail for that. Scenarios come first of the others: their tests take
# longest, and wait most.
race := $(shell command -v gcc >/dev/null && echo -race)
racing := ./chaos/wire ./ensembles/... ./report/history
test:
	@.ci/setup test
	@$(MAKE) --jobs 2 test-race test-rest

test-race:
	go test $(race) -timeout 30m $(racing)

test-rest:
	go test -timeout 30m ./scenarios $$(go list ./... | grep -v -e /ensembles -e /chaos/wire -e /report/history -e /scenarios$$)

test-kubernetes: release
	@.ci/kubernetes/test

# A trial takes some 3 s.
soak:
	@.ci/setup test
	SOAK=$${SOAK:-500} go test ./scenarios -run 'TestSoak_findsNothing$$' -v -timeout 3h

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	@if [ -x bin/vale ]; then $(MAKE) prose; else echo "make prose checks the words, too"; fi

# Vale is a module of its own, so that go.mod stays small. It is built once, and then lint runs it too.
prose: bin/vale
	bin/vale --output=line $$(git ls-files '*.md' '*.go' | grep -v -e _test.go -e testdata -e docs/gallery)

bin/vale: .ci/tools/go.mod
	go -C .ci/tools build -o ../../bin/vale github.com/vale-cli/vale/v3/cmd/vale

clean:
	@if [ -x bin/zkbench ]; then bin/zkbench ensemble down; fi
	rm -rf bin dist
