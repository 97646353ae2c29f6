package observer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
)

// Fence is the resource to which every holder writes with its token. It rejects a token that is
// lower than the token of an earlier write, and a token that another grant has used.
type Fence struct {
	Observer *Observer
	Path     string
	writes   atomic.Int64 // makes every write distinct
}

// Open creates the resource if it does not exist. Its parent must exist.
func (f *Fence) Open(ctx context.Context) error {
	return f.Observer.AnyMember(ctx, 4*MemberTimeout, func(ctx context.Context, s *recipes.Session) error {
		_, err := s.Create(ctx, f.Path, []byte("0 0 0"), 0)
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
}

var (
	ErrFenced = errors.New("refused by the fence")
	ErrHigher = fmt.Errorf("%w: a grant with a higher token has already written to the resource", ErrFenced)
	ErrTwice  = fmt.Errorf("%w: another grant has already written to the resource with this token", ErrFenced)
)

// Write writes to the resource with the token of a grant. The number grant tells grants with the same token apart.
// version is the resource's version after the write. After an error other than ErrFenced the outcome is unknown.
func (f *Fence) Write(ctx context.Context, token, grant int64) (version int64, err error) {
	if token == 0 {
		return 0, errors.New("the token of the grant is unknown")
	}
	data := f.Text(token, grant)
	unsure := false // an earlier attempt may have succeeded
	err = f.Observer.AnyMember(ctx, MemberTimeout, func(ctx context.Context, s *recipes.Session) error {
		version, err = f.compareAndSet(ctx, s, token, grant, data, &unsure)
		return err
	})
	if errors.Is(err, ErrFenced) && unsure {
		err = errors.New("a reply was lost, and another grant has since written to the resource")
	}
	return version, err
}

// Text returns the data of a write; no other write has the same data.
func (f *Fence) Text(token, grant int64) string {
	return fmt.Sprintf("%d %d %d", token, grant, f.writes.Add(1))
}

// compareAndSet sets the data, and tries again if another client has written in between. The current content shows
// whether an earlier attempt succeeded.
func (f *Fence) compareAndSet(ctx context.Context, s *recipes.Session, token, grant int64, data string, unsure *bool) (version int64, err error) {
	for {
		was, stat, err := s.Get(ctx, f.Path)
		if err != nil {
			return 0, err
		}
		if string(was) == data {
			return int64(stat.Version), nil
		}
		var seen, by, n int64
		if _, err := fmt.Sscan(string(was), &seen, &by, &n); err != nil {
			return 0, final{fmt.Errorf("%w: unexpected data in the resource: %q", ErrFenced, was)}
		}
		switch {
		case seen > token:
			return 0, final{ErrHigher}
		case seen == token && by != grant:
			return 0, final{ErrTwice}
		}
		stat, err = s.Set(ctx, f.Path, []byte(data), stat.Version)
		if err == nil {
			return int64(stat.Version), nil
		}
		if !errors.Is(err, zk.ErrBadVersion) {
			*unsure = true
			return 0, err
		}
	}
}
