// Package state records the ensembles on this machine, so that leftovers of crashed runs can be removed
// without touching ensembles in use.
//
// Each ensemble has one JSON file in [Dir], which is removed after the ensemble. The file of local JVMs is
// written before anything is created; containers also have labels that name their owner.
package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/rootless"
	"github.com/zkbench/zkbench/report/safefile"
)

// Record is an ensemble on this machine, and everything that was created for it.
type Record struct {
	ID      string         `json:"id"`
	Kind    ensembles.Kind `json:"kind"`
	Host    string         `json:"host"`  // where process IDs and paths are valid; set by Save
	Owner   Process        `json:"owner"` // the process that started it
	Keep    bool           `json:"keep"`  // the ensemble outlives its owner
	Created time.Time      `json:"created"`

	About     string        `json:"about"`
	Version   string        `json:"version"` // empty until the ensemble serves
	Tick      time.Duration `json:"tick"`    // nanoseconds
	FirstZxid uint32        `json:"first_zxid,omitempty"`
	Secure    []string      `json:"secure,omitempty"` // the members' requirements for clients
	Members   []Member      `json:"members"`

	Dir        string   `json:"dir"`                  // holds every member's data, configuration and log
	Namespaces []string `json:"namespaces,omitempty"` // names of its network namespaces
	Links      []string `json:"links,omitempty"`      // network links on the host's side
	// UserNS is the user namespace ([rootless.ID]) of its networks; "" for the machine's. Processes
	// outside of it neither reach the members nor see the namespaces.
	UserNS  string   `json:"userns,omitempty"`
	Command []string `json:"command,omitempty"` // java and the arguments that all members share
}

// Member is a member of a recorded ensemble. Published is the port of 127.0.0.1 for clients; 0 if they use
// IP and Ports.
type Member struct {
	Name      string `json:"name"`
	ID        int    `json:"id"`                 // myid, from 1
	Observer  bool   `json:"observer,omitempty"` // it does not vote
	IP        string `json:"ip"`                 // in the ensemble's network
	Ports     [3]int `json:"ports"`              // client, quorum, election
	Published int    `json:"published,omitempty"`
	NetNS     string `json:"netns,omitempty"` // a path that setns accepts
}

// Addr returns the address, host:port, at which clients reach the member.
func (m Member) Addr() string {
	if m.Published != 0 {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.Published))
	}
	return net.JoinHostPort(m.IP, strconv.Itoa(m.Ports[0]))
}

// OwnerAlive reports whether the process that started the ensemble runs. For a process of another host,
// where this is unknown, it returns true.
func (r Record) OwnerAlive() bool {
	return r.Host != "" && r.Host != Host() || r.Owner.Alive()
}

// InThisNamespace reports whether this process is in the user namespace of the ensemble's networks.
func (r Record) InThisNamespace() bool { return r.UserNS == rootless.ID() }

// Ensemble returns an ensemble whose members can be queried but not controlled. Its Down does nothing.
func (r Record) Ensemble() *ensembles.Ensemble {
	e := &ensembles.Ensemble{
		ID: r.ID, Kind: r.Kind, About: r.About, Version: r.Version, Tick: r.Tick, FirstZxid: r.FirstZxid,
		Down: func(context.Context) error { return nil },
	}
	for _, m := range r.Members {
		e.Members = append(e.Members, &ensembles.Member{
			Name: m.Name, ID: m.ID, Observer: m.Observer, Addr: m.Addr(), IP: m.IP, NetNS: m.NetNS,
		})
	}
	return e
}

// ErrForeign means that a folder does not belong to this user.
var ErrForeign = errors.New("not a folder that belongs to this user")

// Dir returns the folder of the records: $ZKBENCH_STATE, zkbench in the user's cache folder, or,
// without a home, a folder in the temporary folder.
func Dir() string {
	if dir := os.Getenv("ZKBENCH_STATE"); dir != "" {
		return dir
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "zkbench")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("zkbench-%d", os.Geteuid()))
}

// checkDir returns an error unless only this user can write to the folder of the records. If the folder
// does not exist, the error wraps fs.ErrNotExist.
func checkDir() error {
	info, err := os.Lstat(Dir())
	if err == nil {
		err = checkOwned(Dir(), info)
	}
	if err != nil {
		return fmt.Errorf("checking the folder of ensemble records: %w (set ZKBENCH_STATE to a folder of your own)", err)
	}
	return nil
}

func ensureDir() error {
	if err := os.MkdirAll(filepath.Dir(Dir()), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(Dir(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkDir()
}

// Save writes the record, replacing an older record of the same ensemble. A reader sees the old or the
// new record, never a part of it.
func Save(r Record) error {
	r.Host = Host()
	text, _ := json.MarshalIndent(r, "", "  ") // cannot fail: texts, numbers and a time
	if err := ensureDir(); err != nil {
		return fmt.Errorf("recording ensemble %s: %w", r.ID, err)
	}
	temporary := file(r.ID) + ".new"
	err := os.WriteFile(temporary, append(text, '\n'), 0o600)
	if err == nil {
		err = os.Rename(temporary, file(r.ID))
	}
	if err != nil {
		return fmt.Errorf("recording ensemble %s: %w (set ZKBENCH_STATE to a writable folder)", r.ID, err)
	}
	return nil
}

// List reads all records of this host: the folder may be shared with others, such as development
// containers. Unreadable records are omitted and named in the error.
func List() ([]Record, error) {
	if err := checkDir(); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(Dir(), "*.json"))
	if err != nil {
		return nil, fmt.Errorf("listing ensembles: %w", err)
	}
	var records []Record
	var errs []error
	for _, name := range names {
		r, err := read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the owner has just removed it
		case err != nil:
			errs = append(errs, err)
		case r.Host == Host():
			records = append(records, r)
		}
	}
	return records, errors.Join(errs...)
}

// Remove removes the record of an ensemble. It may be called twice.
func Remove(id string) error {
	for _, name := range []string{file(id), lockFile(id)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the record of ensemble %s: %w", id, err)
		}
	}
	return nil
}

// Host identifies this machine and PID namespace, in which process IDs are valid.
func Host() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return name // other systems have no PID namespaces
	}
	return name + "/" + namespace
}

func file(id string) string     { return filepath.Join(Dir(), id+".json") }
func lockFile(id string) string { return filepath.Join(Dir(), id+".lock") }

func read(name string) (Record, error) {
	text, err := safefile.Read(name, safefile.Config)
	if err != nil {
		return Record{}, fmt.Errorf("reading the record of an ensemble: %w", err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s is not a record of an ensemble: %w (delete the file)", name, err)
	}
	if r.ID != strings.TrimSuffix(filepath.Base(name), ".json") {
		return Record{}, fmt.Errorf("%s contains the record of a different ensemble, %q (delete the file)", name, r.ID)
	}
	if object := r.foreignObject(); object != "" {
		return Record{}, fmt.Errorf("%s names %s, which cannot belong to ensemble %s (delete the file)", name, object, r.ID)
	}
	return r, nil
}

// foreignObject returns an object in the record that cannot have been created for its ensemble, or "".
// Everything that a record lists is removed with the ensemble.
func (r Record) foreignObject() string {
	if r.Dir != "" && (!filepath.IsAbs(r.Dir) || !strings.HasPrefix(filepath.Base(r.Dir), r.Prefix()) || r.Dir != filepath.Clean(r.Dir)) {
		return "the folder " + strconv.Quote(r.Dir)
	}
	for _, name := range r.Namespaces {
		if !strings.HasPrefix(name, r.Prefix()) || filepath.Base(name) != name {
			return "the network namespace " + strconv.Quote(name)
		}
	}
	if i := slices.IndexFunc(r.Links, func(name string) bool { return name != r.LinkName() }); i >= 0 {
		return "the network link " + strconv.Quote(r.Links[i])
	}
	return ""
}

// Prefix returns the prefix of the names of the ensemble's folder and network namespaces.
func (r Record) Prefix() string { return "zkbench-" + r.ID + "-" }

// LinkName returns the name of the ensemble's network link on the host's side.
func (r Record) LinkName() string { return "zkb" + r.ID }

// ErrLocked means that other processes use an ensemble in a conflicting way.
var ErrLocked = errors.New("the ensemble is in use")

// LockDir locks a folder until release is called or the process ends. It fails if another process has locked it.
func LockDir(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if errors.Is(tryLock(f, true), errTaken) { // other errors: the file system has no locks
		return nil, errors.Join(errors.New("another process is writing to it"), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// LockOwnDir opens a folder as [OpenDir] does and locks it, shared or exclusively, until it is closed or the
// process ends. For a conflict the error wraps ErrLocked.
func LockOwnDir(dir string, exclusive bool) (*os.File, error) {
	f, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, exclusive); err != nil {
		if errors.Is(err, errTaken) {
			err = ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), f.Close())
	}
	return f, nil
}

// Acquire locks an ensemble for this process until release is called or the process ends: shared, or exclusive if
// its use would disturb others. what is the purpose, in one word. For a conflict the error wraps ErrLocked and
// names the processes.
func Acquire(id, what string, exclusive bool) (release func() error, err error) {
	if err := ensureDir(); err != nil {
		return nil, fmt.Errorf("locking ensemble %s: %w", id, err)
	}
	f, err := openLocked(lockFile(id), exclusive)
	if errors.Is(err, errTaken) {
		return nil, fmt.Errorf("%w: %s, by %s", ErrLocked, id, strings.Join(users(lockFile(id)), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("locking ensemble %s: %w", id, err)
	}
	if exclusive {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %s\n", Self(), what)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking ensemble %s: %w", id, err), f.Close())
	}
	return func() error { return unlock(f) }, nil
}

// openLocked tries again if another process has removed the file in the meantime.
func openLocked(name string, exclusive bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		if err := tryLock(f, exclusive); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		locked, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(name); err == nil && os.SameFile(there, locked) {
			return f, nil
		}
		f.Close()
	}
}

// unlock releases the lock of an ensemble. The last process that releases it removes the lock file.
func unlock(f *os.File) (err error) {
	if tryLock(f, true) == nil {
		err = os.Remove(f.Name())
	}
	return errors.Join(err, f.Close())
}

// users returns the living processes that have locked the file, such as "process 17 (churn)".
func users(name string) (found []string) {
	text, _ := safefile.Read(name, safefile.Config) // if it cannot be read, no process is named
	for line := range bytes.Lines(text) {
		who, what, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if p := ParseProcess(who); p.Alive() {
			found = append(found, fmt.Sprintf("process %d (%s)", p.PID, what))
		}
	}
	if len(found) == 0 {
		return []string{"an unknown process"}
	}
	return found
}
