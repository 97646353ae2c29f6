package agents

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

// A link is a connection with multiplexed streams, each with its own flow control: a process that
// prints faster than the link waits, and nothing is lost.

const (
	// silenceLimit is the time for which a link may be silent before it counts as lost.
	silenceLimit = 5 * time.Second
	// greetLimit bounds the handshake.
	greetLimit = 15 * time.Second
)

func linkConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval, c.ConnectionWriteTimeout = time.Second, silenceLimit
	c.StreamOpenTimeout = 0 // a slow link is not lost; silenceLimit decides
	c.LogOutput = io.Discard
	return c
}

// say writes a line of JSON, the first message on a stream.
func say(w io.Writer, word any) error {
	line, err := json.Marshal(word)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// hear reads a line of JSON and nothing after it.
func hear(r io.Reader, word any) error {
	line, err := bufio.NewReaderSize(oneByte{io.LimitReader(r, longestWord)}, 16).ReadBytes('\n')
	if errors.Is(err, io.EOF) && len(line) == longestWord {
		return fmt.Errorf("a hello message of more than %d bytes", longestWord)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, word)
}

// longestWord bounds the first message of one end, in bytes.
const longestWord = 64 << 10

// oneByte reads byte by byte, so that a decoder does not read ahead.
type oneByte struct{ io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.Reader.Read(b[:min(1, len(b))]) }

// open opens a stream with its first message.
func open(link *yamux.Session, o msg.Opening) (net.Conn, error) {
	s, err := link.OpenStream()
	if err != nil {
		return nil, err
	}
	if err := say(s, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return pipe{s}, nil
}

// pipe is a stream used like an operating system's pipe: an expired deadline is
// os.ErrDeadlineExceeded.
type pipe struct{ *yamux.Stream }

func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Stream.Write(b)
	return n, deadline(err)
}

func (p pipe) Read(b []byte) (int, error) {
	n, err := p.Stream.Read(b)
	return n, deadline(err)
}

func deadline(err error) error {
	if errors.Is(err, yamux.ErrTimeout) {
		return os.ErrDeadlineExceeded
	}
	return err
}

// join copies bytes both ways until one end is at its end, and closes both.
func join(a, b net.Conn) {
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
	_, _ = a.Close(), b.Close()
	<-done
}
