package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensembles"
)

// greet checks a member that does not report its status, by opening and closing a session.
func greet(ctx context.Context, m *ensembles.Member) error {
	connected := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{m.Addr}, askTimeout, zk.WithLogger(silence{}), zk.WithLogInfo(false),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return m.Connect(ctx) }),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateHasSession {
				select {
				case connected <- struct{}{}:
				default:
				}
			}
		}))
	if err != nil {
		return err
	}
	defer conn.Close()
	select {
	case <-connected:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s did not accept a session", m.Addr), context.Cause(ctx))
	}
}

type silence struct{}

func (silence) Printf(string, ...any) {}
