package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
)

// inQueue returns nodes of a queue, including the items that its recipe keeps in sub-folders.
func (o *observer) inQueue(ctx context.Context, parent string) ([]node, error) {
	return o.now(ctx, parent, func(ctx context.Context, s *recipes.Session, parent string) ([]node, error) {
		found, err := nodesBelow(ctx, s, parent)
		for _, folder := range found {
			if folder.owner != 0 || sequential.MatchString(folder.path) || err != nil {
				continue
			}
			var inside []node
			inside, err = nodesBelow(ctx, s, folder.path)
			found = append(found, slices.DeleteFunc(inside, func(n node) bool { return n.owner != 0 })...)
		}
		return found, err
	})
}

// children returns the smallest and the largest number of sequential children of path that the
// members show. A missing path has none.
func (o *observer) children(ctx context.Context, path string) (fewest, most int, err error) {
	return o.count(ctx, func(s *recipes.Session) (int, error) {
		names, err := s.List(ctx, path)
		return len(slices.DeleteFunc(names, func(name string) bool { return !sequential.MatchString(name) })), err
	})
}

// inLine returns the smallest number of nodes in line below path that a member shows.
func (o *observer) inLine(ctx context.Context, path string) (fewest int, err error) {
	fewest, _, err = o.count(ctx, func(s *recipes.Session) (int, error) { return lineLength(ctx, s, path) })
	return fewest, err
}

// count returns the smallest and the largest of the members' counts. A missing path counts as 0.
func (o *observer) count(ctx context.Context, of func(*recipes.Session) (int, error)) (fewest, most int, err error) {
	for i := range o.posts {
		s, err := o.member(ctx, i)
		if err != nil {
			return 0, 0, err
		}
		n, err := of(s)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return 0, 0, err
		}
		if i == 0 {
			fewest = n
		}
		fewest, most = min(fewest, n), max(most, n)
	}
	return fewest, most, nil
}

// lineLength counts the sequential or ephemeral nodes below path at any depth.
func lineLength(ctx context.Context, s *recipes.Session, path string) (n int, err error) {
	names, err := s.List(ctx, path)
	for _, name := range names {
		if sequential.MatchString(name) {
			n++
			continue
		}
		child := path + "/" + name
		stat, err := s.Exists(ctx, child)
		switch {
		case err != nil:
			return n, err
		case stat == nil:
		case stat.EphemeralOwner != 0:
			n++
		default:
			more, err := lineLength(ctx, s, child)
			if n += more; err != nil && !errors.Is(err, zk.ErrNoNode) {
				return n, err
			}
		}
	}
	return n, err
}

// itemless reports whether no member has an item of the queue at path: a persistent sequential
// node, there or in a sub-folder, that holds one of the items. A missing path has none.
func (o *observer) itemless(ctx context.Context, path string, items *outstanding) (bool, error) {
	for i := range o.posts {
		s, err := o.member(ctx, i)
		if err != nil {
			return false, err
		}
		if found, err := anyItem(ctx, s, path, items, true); found || err != nil {
			return false, err
		}
	}
	return true, nil
}

func anyItem(ctx context.Context, s *recipes.Session, path string, items *outstanding, folders bool) (bool, error) {
	names, err := s.List(ctx, path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return false, err
	}
	for _, name := range names {
		if !sequential.MatchString(name) {
			continue
		}
		if found, err := isItem(ctx, s, path+"/"+name, items); found || err != nil {
			return found, err
		}
	}
	for _, name := range names {
		if !folders || sequential.MatchString(name) {
			continue
		}
		if found, err := anyItem(ctx, s, path+"/"+name, items, false); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func isItem(ctx context.Context, s *recipes.Session, path string, items *outstanding) (bool, error) {
	data, stat, err := s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil && stat.EphemeralOwner == 0 && items.in(data), err
}

func (o *observer) itemsAmong(ctx context.Context, nodes []node, items *outstanding) (found []node, err error) {
	s, err := o.member(ctx, 0)
	for _, n := range nodes {
		if err != nil {
			return nil, err
		}
		var is bool
		if is, err = isItem(ctx, s, n.path, items); is {
			found = append(found, n)
		}
	}
	return found, err
}
