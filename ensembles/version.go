package ensembles

import (
	"context"
	"fmt"
)

// Version is a build of ZooKeeper that members can run.
type Version struct {
	Name string // in results; unique in an ensemble
	From string
}

// Upgrader is a [Machine] whose member can be restarted with another version, with the same data
// and address.
type Upgrader interface {
	// Upgrade sets the version of the member's next start. The member must not run.
	Upgrade(ctx context.Context, v Version) error
	// Runs returns the version of the member's last start, from its process or container.
	Runs(ctx context.Context) (string, error)
}

// VersionNamed returns the ensemble's version with that name.
func (e *Ensemble) VersionNamed(name string) (Version, error) {
	var names []string
	for _, v := range e.Versions {
		if v.Name == name {
			return v, nil
		}
		names = append(names, v.Name)
	}
	return Version{}, fmt.Errorf("no version %q of ZooKeeper among those of the ensemble %q", name, names)
}
