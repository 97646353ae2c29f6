package ensembles

import (
	"context"
	"fmt"
)

// Version is one build of ZooKeeper that members can run.
type Version struct {
	Name string // in results; no two versions of an ensemble have the same
	From string // container: an image reference; process: the folder of a distribution
}

// Upgrader is a [Machine] whose member can be started again from another version, with the
// same data and address.
type Upgrader interface {
	// Upgrade makes the version that of the member's next start. The member must not run.
	Upgrade(ctx context.Context, v Version) error
	// Runs returns the name of the version that the member was last started from, as its
	// process or its container says.
	Runs(ctx context.Context) (string, error)
}

// VersionNamed returns the version of that name, among those that the ensemble's members can run.
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
