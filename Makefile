# make bench    see the herd effect on this machine
# make test     run every test
# make lint     what must be clean before a commit
# make setup    install what is missing; bench and test do it too
# make clean    remove what was built, and ensembles that crashed runs left

.PHONY: help setup build bench test lint clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

setup:
	@.ci/setup

# The revision is built in where there is one to be had. A static binary can go
# into any container.
stamp := $(shell git status >/dev/null 2>&1 && echo true || echo false)
build:
	CGO_ENABLED=0 go build -buildvcs=$(stamp) -o bin/zkbench ./cmd/zkbench

bench: setup build
	bin/zkbench run herd

# The race detector needs a C compiler. It is for code that has goroutines; drawing
# has none, and would take ten times as long.
race := $(shell command -v gcc >/dev/null && echo -race)
racing := ./chaos/... ./cmd/... ./ensembles/... ./recipes/... ./scenarios/... ./report/history
test:
	@.ci/setup test
	go test $(race) -timeout 30m $(racing)
	go test -timeout 10m $$(go list ./report/... | grep -v report/history)

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

clean:
	@if [ -x bin/zkbench ]; then bin/zkbench ensemble down; fi
	rm -rf bin
