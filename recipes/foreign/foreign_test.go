package foreign

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

// opened starts a registered subject, as a trial does, and opens n clients at the same path.
func opened(t *testing.T, name, path, resource string, n int) []recipes.Client {
	t.Helper()
	s, err := recipes.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	if s.Missing != nil {
		if err := s.Missing(); err != nil {
			t.Skip(err)
		}
	}
	if s.Start != nil {
		var stop func()
		s, stop, err = s.Start(t.Context(), recipes.Trial{Clients: n, Owner: "test", Fail: func(err error) { t.Error(err) }})
		t.Cleanup(stop)
		if err != nil {
			t.Fatal(err)
		}
	}
	var clients []recipes.Client
	for i := range n {
		c, err := s.Open(t.Context(), recipes.Env{
			Servers: servers, Parent: path, Timeout: sessionTimeout, MaxPacket: 256 << 10,
			Client: i, Resource: resource, Connect: func() ([]string, error) { return servers, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		clients = append(clients, c)
	}
	return clients
}

func TestSubject_isServedLikeAnyOther(t *testing.T) {
	for _, d := range Drivers() {
		t.Run(strings.ReplaceAll(d.Name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			path, resource := freshPath(t)
			c := opened(t, d.Name, path, resource, 1)[0]
			if q, ok := c.(recipes.QueueClient); ok && d.Recipe == recipes.RecipeQueue {
				serveQueue(t, q)
				return
			}
			contender := c.(recipes.Contender)
			for range 3 {
				claim, err := contender.Acquire(t.Context())
				if err == nil && !claim.At.IsZero() {
					err = contender.Release(t.Context())
				}
				if err != nil || claim.At.IsZero() {
					t.Fatalf("claim %+v, %v", claim, err)
				}
			}
		})
	}
}

func serveQueue(t *testing.T, q recipes.QueueClient) {
	for i := range 3 {
		item := fmt.Append(nil, "item-", i)
		if err := q.Put(t.Context(), item); err != nil {
			t.Fatal(err)
		}
		if got, err := q.Take(t.Context()); err != nil || !bytes.Equal(got, item) {
			t.Fatalf("took %q, %v", got, err)
		}
	}
}

func TestDrivers_whoseLibraryIsMissingSayHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	s, err := recipes.Find("lock/curator")
	if err != nil {
		t.Fatal(err)
	}
	_, stop, err := s.Start(t.Context(), recipes.Trial{})
	stop()
	for _, e := range []error{err, s.Missing()} {
		if e == nil || !strings.Contains(e.Error(), "apt-get install --no-install-recommends default-jdk-headless libcurator-recipes-java") {
			t.Errorf("got %v", e)
		}
	}
}

// A module in the current folder is not the library: whoever planted it would have it executed.
func TestKazoo_isNotTakenFromTheCurrentFolder(t *testing.T) {
	if kazoo.Missing() != nil {
		t.Skip(kazoo.Missing())
	}
	t.Chdir(t.TempDir())
	planted := "open('executed', 'w'); raise SystemExit(1)"
	if err := os.WriteFile("kazoo.py", []byte(planted), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&python{}).Missing(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("executed"); err == nil {
		t.Error("the planted module was executed")
	}
}

func TestVersions_areFoundInTheCache(t *testing.T) {
	state := t.TempDir()
	t.Setenv("ZKBENCH_STATE", state)
	if got := Versions(curator); got != nil {
		t.Errorf("nothing is installed, and there are %v", got)
	}
	for _, folder := range []string{"curator/5.7.1/lib", "curator/5.10.0/lib", "curator/half.tmp/lib", "kazoo/2.11.0/kazoo"} {
		if err := os.MkdirAll(filepath.Join(state, "versions", folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := Versions(curator); !slices.Equal(got, []string{"5.7.1", "5.10.0"}) {
		t.Errorf("versions %v", got)
	}
	if got, want := curator.at("5.7.1").(*java).classPath(), filepath.Join(state, "versions/curator/5.7.1/lib/*"); got != want {
		t.Errorf("class path %s, want %s", got, want)
	}
	if got := curator.version(); got != "5.10.0" {
		t.Errorf("the newest is %s", got)
	}
	command, err := kazoo.at("2.11.0").Command(t.Context(), "kazoo_lock.py")
	if err != nil || !slices.Contains(command, "PYTHONPATH="+filepath.Join(state, "versions/kazoo/2.11.0")) {
		t.Errorf("%v, %v", command, err)
	}
	if err := os.Chmod(filepath.Join(state, "versions/curator"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := Versions(curator); got != nil {
		t.Errorf("others can write to the folder, and its programs would be run: %v", got)
	}
	if d := (Driver{Library: curator}).at("5.7.1"); !strings.HasSuffix(d.Name, "@5.7.1") {
		t.Errorf("its name is %s", d.Name)
	}
}
