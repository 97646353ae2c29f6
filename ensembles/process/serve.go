package process

import (
	"context"
	"io"
	"net"
	"strings"
	"time"

	"zkbench/ensembles/state"
)

// serving asks every member and returns the version when all of them serve, else "".
func serving(ctx context.Context, r *state.Record) string {
	version := ""
	for _, m := range r.Members {
		reply := srvr(ctx, addr(m))
		if !strings.Contains(reply, "\nMode: ") {
			return ""
		}
		_, after, _ := strings.Cut(reply, "Zookeeper version: ")
		version, _, _ = strings.Cut(after, "-")
	}
	return version
}

func srvr(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return ""
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	_, _ = io.WriteString(c, "srvr")
	reply, _ := io.ReadAll(c)
	return string(reply)
}
