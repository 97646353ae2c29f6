// Package foreign provides the recipes of Curator, kazoo and ZooKeeper as subjects. Each runs in a driver, a small
// program in the recipe's language that implements the subject protocol (zkbench help drivers).
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
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
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
	Library Library
}

func init() {
	for _, d := range Drivers() {
		d.register()
		for _, version := range installed(d.Library.folder()) {
			d.at(version).register()
		}
	}
}

func (d Driver) register() {
	s := d.Subject
	s.Missing, s.Start, s.Version = d.Library.Missing, d.start, d.Library.version
	recipes.Register(s)
}

func (d Driver) at(version string) Driver {
	d.Name += "@" + version
	d.Library = d.Library.at(version)
	return d
}

func (d Driver) start(ctx context.Context, t recipes.Trial) (recipes.Subject, func(), error) {
	args, err := d.Library.Command(ctx, d.Program)
	if err != nil {
		return d.Subject, func() {}, err
	}
	return host.Subject(host.Command{Name: d.Name, Args: args}).Start(ctx, t)
}

// Library is a library of another project, with the drivers that run its recipes.
type Library interface {
	Name() string
	Packages() []string // of Debian
	Missing() error     // names the missing part if the library's drivers cannot be started
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
	withRequeue = recipes.Promises{Exclusive: true, FIFO: true, Events: true, Requeues: true}
	noOrder     = recipes.Promises{Exclusive: true, Events: true}
	exactlyOnce = recipes.Promises{FIFO: true, Delivery: recipes.ExactlyOnce, Events: true}
)

func driver(from Library, program, name string, v recipes.Variant, p recipes.Promises, about string) Driver {
	recipe, _ := host.RecipeOf(name)
	s := recipes.Subject{Name: name, Recipe: recipe, Variant: v, Promises: p, About: about}
	return Driver{s, program, from}
}

// Drivers returns the drivers of all libraries, grouped by library.
func Drivers() []Driver {
	return []Driver{
		driver(curator, "CuratorLock", "lock/curator", recipes.Predecessor, oneHolder,
			"Curator's InterProcessMutex, with its guide's retry policy and connection listener. Exclusive, fifo"),
		driver(curator, "CuratorLatch", "election/curator-latch", recipes.Predecessor, oneHolder,
			"Curator's LeaderLatch: a new latch for each term; closing it resigns. One leader, fifo"),
		driver(curator, "CuratorSelector", "election/curator-selector", recipes.Predecessor, withRequeue,
			"Curator's LeaderSelector with autoRequeue: a former leader becomes a candidate again by itself. One leader, fifo"),
		driver(curator, "CuratorRWLock", "rwlock/curator", recipes.Predecessor, oneHolder,
			"Curator's InterProcessReadWriteLock. Several readers or one writer, fifo"),
		driver(curator, "CuratorSemaphore", "semaphore/curator", "", oneHolder,
			"Curator's InterProcessSemaphoreV2: each lease takes a lock and creates a node. At most as many holders as permits, fifo"),
		driver(curator, "CuratorBarrier", "barrier/curator", "", noOrder,
			"Curator's DistributedDoubleBarrier, a new one for each generation. No client passes or leaves early"),
		driver(curator, "CuratorQueue", "queue/curator-simple", recipes.Parent,
			recipes.Promises{FIFO: true, Delivery: recipes.AtMostOnce, Events: true},
			"Curator's SimpleDistributedQueue: a delete whose reply is lost is repeated, and then does not find the item. At most once, fifo"),
		driver(kazoo, "kazoo_lock.py", "lock/kazoo", recipes.Predecessor, oneHolder,
			"kazoo's Lock, a new one for each acquire, with its documentation's state listener. Exclusive, fifo"),
		driver(kazoo, "kazoo_election.py", "election/kazoo", recipes.Predecessor, oneHolder,
			"kazoo's Election: run() leads until it is stopped. One leader, fifo"),
		driver(kazoo, "kazoo_rwlock.py", "rwlock/kazoo", recipes.Predecessor, oneHolder,
			"kazoo's ReadLock and WriteLock, a new one for each acquire. Several readers or one writer, fifo"),
		driver(kazoo, "kazoo_semaphore.py", "semaphore/kazoo", "", noOrder,
			"kazoo's Semaphore, a new one for each acquire. At most as many holders as permits"),
		driver(kazoo, "kazoo_barrier.py", "barrier/kazoo", "", noOrder,
			"kazoo's DoubleBarrier, a new one for each generation. No client passes or leaves early"),
		driver(kazoo, "kazoo_queue.py", "queue/kazoo", recipes.Polling, exactlyOnce,
			"kazoo's Queue: get() does not wait, so a consumer of an empty queue polls every 10 ms. Exactly once, fifo"),
		driver(kazoo, "kazoo_locking_queue.py", "queue/kazoo-locking", recipes.Parent,
			recipes.Promises{Delivery: recipes.AtLeastOnce, Events: true},
			"kazoo's LockingQueue: get() locks an entry, consume() removes it. At least once"),
		driver(zookeeper, "WriteLockDriver", "lock/zookeeper-writelock", recipes.Predecessor, oneHolder,
			"WriteLock of ZooKeeper's own recipes, with a LockListener; a new one for each acquire. Exclusive, fifo"),
		driver(zookeeper, "ElectionSupportDriver", "election/zookeeper-support", recipes.Predecessor, oneHolder,
			"LeaderElectionSupport of ZooKeeper's own recipes: start() to become a candidate, stop() to resign. One leader, fifo"),
		driver(zookeeper, "DistributedQueueDriver", "queue/zookeeper", recipes.Parent, exactlyOnce,
			"DistributedQueue of ZooKeeper's own recipes. Exactly once, fifo"),
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
		if checkPrivate(dir) != nil {
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

//go:embed java/*/*.java python/*.py
var sources embed.FS

// buildDir returns a folder with the sources from folders and the output of build, which may be nil. The
// folder is created once for each content and version of the library, in the user's cache.
func buildDir(version string, build func(dir string) error, folders ...string) (string, error) {
	sum, err := digest(folders)
	if err != nil {
		return "", err
	}
	dir, err := cache()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, path.Base(folders[len(folders)-1])+version+"-"+sum)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, fill(dir, folders, build)
}

func digest(folders []string) (string, error) {
	sum := sha256.New()
	for _, folder := range folders {
		err := fs.WalkDir(sources, folder, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := sources.ReadFile(name)
			fmt.Fprintf(sum, "%s %d\n%s", e.Name(), len(text), text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

func stateDir() (string, error) {
	if dir := os.Getenv("ZKBENCH_STATE"); dir != "" {
		return dir, nil
	}
	home, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the folder for the drivers cannot be determined: %w (set ZKBENCH_STATE to choose one)", err)
	}
	return filepath.Join(home, "zkbench"), nil
}

// checkPrivate returns an error unless only the owner of dir may write to it: programs in it are run.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode()&0o022 != 0 {
		return fmt.Errorf("%s: other users can write to this folder, from which programs are run (remove it, or set ZKBENCH_STATE)", dir)
	}
	return nil
}

// cache creates the folder for build results, "drivers" in stateDir, and returns its path.
func cache() (string, error) {
	dir, err := stateDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "drivers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create a folder for the drivers: %w (set ZKBENCH_STATE to a writable folder)", err)
	}
	return dir, checkPrivate(dir)
}

// fill creates dir completely or not at all. Several processes may do this at the same time.
func fill(dir string, folders []string, build func(dir string) error) error {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".half-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	for _, folder := range folders {
		files, err := fs.Sub(sources, folder)
		if err == nil {
			err = os.CopyFS(temporary, files)
		}
		if err != nil {
			return err
		}
	}
	if build != nil {
		if err := build(temporary); err != nil {
			return err
		}
	}
	if err := os.Rename(temporary, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return err
		}
	}
	return nil
}

func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}
