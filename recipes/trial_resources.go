package recipes

import (
	"errors"
	"io"
	"sync"
)

// TrialResources has the resources that subjects keep from one trial of a run to the next, by name: the processes of
// drivers. The zero value is empty.
type TrialResources struct {
	mu     sync.Mutex
	things map[string]io.Closer
}

// Of returns the resource of that name; made creates it the first time.
func (k *TrialResources) Of(name string, made func() io.Closer) io.Closer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.things[name] == nil {
		if k.things == nil {
			k.things = map[string]io.Closer{}
		}
		k.things[name] = made()
	}
	return k.things[name]
}

// Close closes all resources.
func (k *TrialResources) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, c := range k.things {
		errs = append(errs, c.Close())
	}
	k.things = nil
	return errors.Join(errs...)
}
