// Package foreign provides the recipes of Curator, kazoo and ZooKeeper as subjects. Each runs in a driver,
// a small program in the recipe's language that implements the subject protocol (zkbench help
// drivers).
//
//	java/driver     the protocol, for Java
//	java/curator    a driver for each of Curator's recipes
//	java/zookeeper  a driver for each recipe that is part of ZooKeeper
//	python          the protocol, for Python, and a driver for each of kazoo's recipes
//
// Importing the package registers the subjects.
//
// A driver translates: it adds no retry, clean-up, check or wait that the recipe's documentation
// does not require of a user. Its sources are part of zkbench. The libraries are the system's packages
// and the versions that .ci/versions has installed, such as lock/curator@5.7.1. A name without a
// version means the newest version on this machine.
package foreign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"golang.org/x/mod/semver"
)

// Driver is a recipe of another project as a subject, with the program that runs it.
type Driver struct {
	recipes.Subject
	Program string // the Java class or the Python file
	From    Library
}

func init() {
	for _, d := range Drivers() {
		d.register()
		for _, version := range installed(d.From.folder()) {
			d.at(version).register()
		}
	}
}

func (d Driver) register() {
	s := d.Subject
	s.Missing, s.Start, s.Version = d.From.Missing, d.start, d.From.version
	recipes.Register(s)
}

func (d Driver) at(version string) Driver {
	d.Name += "@" + version
	d.From = d.From.at(version)
	return d
}

func (d Driver) start(ctx context.Context, t recipes.Trial) (recipes.Subject, func(), error) {
	args, err := d.From.Command(ctx, d.Program)
	if err != nil {
		return d.Subject, func() {}, err
	}
	return host.Subject(host.Command{Name: d.Name, Args: args}).Start(ctx, t)
}

type Library interface {
	// Name returns the library's usual name.
	Name() string
	// Packages returns its Debian packages.
	Packages() []string
	// Missing returns an error that names the missing part if the library's drivers cannot be started.
	Missing() error
	// Command returns the command that starts a driver. It builds the driver first if necessary.
	Command(ctx context.Context, program string) ([]string, error)
	version() string
	folder() string
	at(version string) Library
}

// Versions returns the versions of a library that .ci/versions has installed, oldest first.
func Versions(l Library) []string { return installed(l.folder()) }

// Libraries returns the libraries of all drivers.
func Libraries() []Library { return []Library{curator, kazoo, zookeeper} }

// Install returns the shell command that installs the Debian packages that a library's drivers require.
func Install(l Library) string {
	return "apt-get install --no-install-recommends " + strings.Join(l.Packages(), " ")
}

func missing(l Library, what string) error {
	return fmt.Errorf("%s is not installed: %s (install it with: %s)", l.Name(), what, Install(l))
}

var (
	oneHolder   = recipes.Promises{Exclusive: true, FIFO: true, Events: true}
	oneLeader   = oneHolder
	standsAgain = recipes.Promises{Exclusive: true, FIFO: true, Events: true, Requeues: true}
)

// Drivers returns the drivers of all libraries, grouped by library.
func Drivers() []Driver {
	return []Driver{
		{recipes.Subject{
			Name: "lock/curator", Recipe: recipes.RecipeLock, Variant: recipes.Predecessor, Promises: oneHolder,
			About: "Curator's InterProcessMutex, with its guide's retry policy and connection listener. Exclusive, fifo",
		}, "CuratorLock", curator},
		{recipes.Subject{
			Name: "election/curator-latch", Recipe: recipes.RecipeElection, Variant: recipes.Predecessor, Promises: oneLeader,
			About: "Curator's LeaderLatch: a new latch for each term; closing it resigns. One leader, fifo",
		}, "CuratorLatch", curator},
		{recipes.Subject{
			Name: "election/curator-selector", Recipe: recipes.RecipeElection, Variant: recipes.Predecessor, Promises: standsAgain,
			About: "Curator's LeaderSelector with autoRequeue: a former leader becomes a candidate again by itself. One leader, fifo",
		}, "CuratorSelector", curator},
		{recipes.Subject{
			Name: "rwlock/curator", Recipe: recipes.RecipeRWLock, Variant: recipes.Predecessor, Promises: oneHolder,
			About: "Curator's InterProcessReadWriteLock. Several readers or one writer, fifo",
		}, "CuratorRWLock", curator},
		{recipes.Subject{
			Name: "semaphore/curator", Recipe: recipes.RecipeSemaphore, Promises: oneHolder,
			About: "Curator's InterProcessSemaphoreV2: each lease takes a lock and creates a node. At most as many holders as permits, fifo",
		}, "CuratorSemaphore", curator},
		{recipes.Subject{
			Name: "barrier/curator", Recipe: recipes.RecipeBarrier, Promises: recipes.Promises{Exclusive: true, Events: true},
			About: "Curator's DistributedDoubleBarrier, a new one for each generation. No client passes or leaves early",
		}, "CuratorBarrier", curator},
		{recipes.Subject{
			Name: "queue/curator-simple", Recipe: recipes.RecipeQueue, Variant: recipes.Parent,
			Promises: recipes.Promises{FIFO: true, Delivery: recipes.AtMostOnce, Events: true},
			About:    "Curator's SimpleDistributedQueue: a delete whose reply is lost is repeated, and then does not find the item. At most once, fifo",
		}, "CuratorQueue", curator},
		{recipes.Subject{
			Name: "lock/kazoo", Recipe: recipes.RecipeLock, Variant: recipes.Predecessor, Promises: oneHolder,
			About: "kazoo's Lock, a new one for each acquire, with its documentation's state listener. Exclusive, fifo",
		}, "kazoo_lock.py", kazoo},
		{recipes.Subject{
			Name: "election/kazoo", Recipe: recipes.RecipeElection, Variant: recipes.Predecessor, Promises: oneLeader,
			About: "kazoo's Election: run() leads until it is stopped. One leader, fifo",
		}, "kazoo_election.py", kazoo},
		{recipes.Subject{
			Name: "rwlock/kazoo", Recipe: recipes.RecipeRWLock, Variant: recipes.Predecessor, Promises: oneHolder,
			About: "kazoo's ReadLock and WriteLock, a new one for each acquire. Several readers or one writer, fifo",
		}, "kazoo_rwlock.py", kazoo},
		{recipes.Subject{
			Name: "semaphore/kazoo", Recipe: recipes.RecipeSemaphore, Promises: recipes.Promises{Exclusive: true, Events: true},
			About: "kazoo's Semaphore, a new one for each acquire. At most as many holders as permits",
		}, "kazoo_semaphore.py", kazoo},
		{recipes.Subject{
			Name: "barrier/kazoo", Recipe: recipes.RecipeBarrier, Promises: recipes.Promises{Exclusive: true, Events: true},
			About: "kazoo's DoubleBarrier, a new one for each generation. No client passes or leaves early",
		}, "kazoo_barrier.py", kazoo},
		{recipes.Subject{
			Name: "queue/kazoo", Recipe: recipes.RecipeQueue, Variant: recipes.Polling,
			Promises: recipes.Promises{FIFO: true, Delivery: recipes.ExactlyOnce, Events: true},
			About:    "kazoo's Queue: get() does not wait, so a consumer of an empty queue polls every 10 ms. Exactly once, fifo",
		}, "kazoo_queue.py", kazoo},
		{recipes.Subject{
			Name: "queue/kazoo-locking", Recipe: recipes.RecipeQueue, Variant: recipes.Parent,
			Promises: recipes.Promises{Delivery: recipes.AtLeastOnce, Events: true},
			About:    "kazoo's LockingQueue: get() locks an entry, consume() removes it. At least once",
		}, "kazoo_locking_queue.py", kazoo},
		{recipes.Subject{
			Name: "lock/zookeeper-writelock", Recipe: recipes.RecipeLock, Variant: recipes.Predecessor, Promises: oneHolder,
			About: "WriteLock of ZooKeeper's own recipes, with a LockListener; a new one for each acquire. Exclusive, fifo",
		}, "WriteLockDriver", zookeeper},
		{recipes.Subject{
			Name: "election/zookeeper-support", Recipe: recipes.RecipeElection, Variant: recipes.Predecessor, Promises: oneLeader,
			About: "LeaderElectionSupport of ZooKeeper's own recipes: start() to become a candidate, stop() to resign. One leader, fifo",
		}, "ElectionSupportDriver", zookeeper},
		{recipes.Subject{
			Name: "queue/zookeeper", Recipe: recipes.RecipeQueue, Variant: recipes.Parent,
			Promises: recipes.Promises{FIFO: true, Delivery: recipes.ExactlyOnce, Events: true},
			About:    "DistributedQueue of ZooKeeper's own recipes. Exactly once, fifo",
		}, "DistributedQueueDriver", zookeeper},
	}
}

var versionNumber = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

func installed(library string) []string {
	dir, err := stateDir()
	if err != nil {
		return nil
	}
	for _, below := range []string{"", "versions", library} {
		dir = filepath.Join(dir, below)
		if private(dir) != nil {
			return nil
		}
	}
	entries, _ := os.ReadDir(dir)
	var versions []string
	for _, e := range entries {
		if e.IsDir() && versionNumber.MatchString(e.Name()) {
			versions = append(versions, e.Name())
		}
	}
	slices.SortFunc(versions, compareVersions)
	return versions
}

func versionDir(library, version string) string {
	dir, _ := stateDir() // installed has found it
	return filepath.Join(dir, "versions", library, version)
}

// newest returns the newest installed version if it is newer than the version system, otherwise "".
func newest(library, system string) string {
	all := installed(library)
	if len(all) == 0 || compareVersions(all[len(all)-1], system) <= 0 {
		return ""
	}
	return all[len(all)-1]
}

// compareVersions compares version numbers such as 5.7.1; "" is the lowest.
func compareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }
