package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
)

// listenersKey begins the environment variables with which a process that is to be replaced passes
// on its listeners: the new one may be in a network that cannot be reached. The address follows,
// and the value is the file.
const listenersKey = "ZKBENCH_LISTENER_"

// listen listens at an address in the network in which this program was started.
func listen(at string) (net.Listener, error) {
	if fd, err := strconv.Atoi(os.Getenv(listenersKey + at)); err == nil {
		f := os.NewFile(uintptr(fd), at)
		defer f.Close()
		return net.FileListener(f)
	}
	var l net.ListenConfig
	return l.Listen(context.Background(), "tcp", at)
}

// handOver opens the listeners of the flags for the process that replaces this one.
func (l *live) handOver() error {
	for _, page := range []struct{ flag, at string }{{"metrics", l.metrics}, {"pprof", l.pprof}} {
		at := local(page.at)
		if at == "" || os.Getenv(listenersKey+at) != "" {
			continue
		}
		on, err := listen(at)
		if err == nil {
			err = keepOpen(on, at)
		}
		if err != nil {
			return usage(fmt.Errorf("--%s %s: %w", page.flag, page.at, err))
		}
	}
	return nil
}
