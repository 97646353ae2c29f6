package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
)

// fence is the resource to which every holder writes with its token. It refuses a token
// that is lower than one that has written before.
type fence struct {
	observer *observer
	path     string
	writes   atomic.Int64 // makes every write unlike any other
}

// open makes the resource, to which nobody has written.
func (f *fence) open(ctx context.Context) error {
	return f.observer.any(ctx, 4*tryFor, func(ctx context.Context, s *recipes.Session) error {
		_, err := s.Create(ctx, f.path, []byte("0 -1 0"), 0)
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
}

// errFenced says that the resource has seen a higher token.
var errFenced = errors.New("refused by the fence: a higher token has written")

// write writes under token. version is the resource's version after the write. An error
// other than errFenced leaves the outcome open.
func (f *fence) write(ctx context.Context, token int64, client int) (version int64, err error) {
	data := fmt.Sprintf("%d %d %d", token, client, f.writes.Add(1))
	unsure := false // an earlier try may have succeeded
	err = f.observer.any(ctx, tryFor, func(ctx context.Context, s *recipes.Session) error {
		version, err = f.try(ctx, s, token, data, &unsure)
		return err
	})
	if errors.Is(err, errFenced) && unsure {
		err = errors.New("a reply was lost, and a higher token has written since")
	}
	return version, err
}

// try is one compare-and-set, and another where somebody else wrote in between. What it
// finds tells whether an earlier try has succeeded.
func (f *fence) try(ctx context.Context, s *recipes.Session, token int64, data string, unsure *bool) (version int64, err error) {
	for {
		was, stat, err := s.Get(ctx, f.path)
		if err != nil {
			return 0, err
		}
		if string(was) == data {
			return int64(stat.Version), nil
		}
		seen, err := strconv.ParseInt(strings.Fields(string(was))[0], 10, 64)
		if err != nil {
			return 0, final{fmt.Errorf("%w, which holds %q", errFenced, was)}
		}
		if seen > token {
			return 0, final{errFenced}
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
