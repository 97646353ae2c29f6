package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
)

// fence is the resource to which every holder writes with its token. It rejects a token that is
// lower than the token of an earlier write, and a token that another grant has used.
type fence struct {
	observer *observer
	path     string
	writes   atomic.Int64 // makes every write distinct
}

func (f *fence) open(ctx context.Context) error {
	return f.observer.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		_, err := s.Create(ctx, f.path, []byte("0 0 0"), 0)
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
}

var (
	errFenced = errors.New("refused by the fence")
	errHigher = fmt.Errorf("%w: a higher token has written", errFenced)
	errTwice  = fmt.Errorf("%w: another grant has written under this token", errFenced)
)

// write writes with the token of a grant, which also has a number. version is the resource's
// version after the write. After an error other than errFenced the outcome is unknown.
func (f *fence) write(ctx context.Context, token, grant int64) (version int64, err error) {
	if token == 0 {
		return 0, errors.New("the token of the grant is not known")
	}
	data := f.text(token, grant)
	unsure := false // an earlier attempt may have succeeded
	err = f.observer.any(ctx, tryFor, func(ctx context.Context, s *recipes.Session) error {
		version, err = f.try(ctx, s, token, grant, data, &unsure)
		return err
	})
	if errors.Is(err, errFenced) && unsure {
		err = errors.New("a reply was lost, and a higher token has written since")
	}
	return version, err
}

func (f *fence) text(token, grant int64) string {
	return fmt.Sprintf("%d %d %d", token, grant, f.writes.Add(1))
}

// try is a compare-and-set, repeated if another client wrote in between. The current content shows
// whether an earlier attempt succeeded.
func (f *fence) try(ctx context.Context, s *recipes.Session, token, grant int64, data string, unsure *bool) (version int64, err error) {
	for {
		was, stat, err := s.Get(ctx, f.path)
		if err != nil {
			return 0, err
		}
		if string(was) == data {
			return int64(stat.Version), nil
		}
		var seen, by, n int64
		if _, err := fmt.Sscan(string(was), &seen, &by, &n); err != nil {
			return 0, final{fmt.Errorf("%w, which holds %q", errFenced, was)}
		}
		switch {
		case seen > token:
			return 0, final{errHigher}
		case seen == token && by != grant:
			return 0, final{errTwice}
		}
		stat, err = s.Set(ctx, f.path, []byte(data), stat.Version)
		if err == nil {
			return int64(stat.Version), nil
		}
		if !errors.Is(err, zk.ErrBadVersion) {
			*unsure = true
			return 0, err
		}
	}
}
