package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dockercontainer "github.com/moby/moby/api/types/container"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// The official image keeps its data in /data and /datalog, reads /conf/zoo.cfg and /data/myid
// where they are there, and starts /apache-zookeeper-VERSION-bin/bin/zkServer.sh by its own
// entry point.
func TestRequest_suitsTheOfficialImage(t *testing.T) {
	p := planned(t, nil, ensembles.Options{})
	p.Members[1].IP = "192.0.2.12"
	r := p.request(p.Members[1], ensembles.Version{Name: "new", From: "zookeeper:3.9"})
	if r.Image != "zookeeper:3.9" || r.Entrypoint != nil || r.Cmd != nil || r.Labels[labelVersion] != "new" || r.Name != containerName(p.ID, "zk2") {
		t.Errorf("it is started as %+v", r)
	}
	if r.Env["ZK_SERVER_HEAP"] != "512" || r.Env["SERVER_JVMFLAGS"] == "" { // which its zkEnv.sh and zkServer.sh read
		t.Errorf("its environment is %v", r.Env)
	}
	files := map[string]string{}
	for _, f := range r.Files {
		var text strings.Builder
		_, err := f.Reader.(*strings.Reader).WriteTo(&text)
		check.OK(t, err)
		files[f.ContainerFilePath] = text.String()
	}
	if files["/data/myid"] != "2\n" || !strings.Contains(files["/conf/zoo.cfg"], "dataDir=/data\ndataLogDir=/datalog\n") {
		t.Errorf("its files are %q", files)
	}
	if _, named := p.request(p.Members[0], ensembles.Version{From: "zookeeper:3.9"}).Labels[labelVersion]; named {
		t.Error("a version without a name has one")
	}
}

func TestReplaceable_asksForVolumes(t *testing.T) {
	inspected := func(running bool, volumes ...string) (c dockercontainer.InspectResponse) {
		for _, at := range volumes {
			c.Mounts = append(c.Mounts, dockercontainer.MountPoint{Destination: at})
		}
		c.State, c.Config = &dockercontainer.State{Running: running}, &dockercontainer.Config{Image: "old:1"}
		return c
	}
	check.OK(t, checkReplaceable(inspected(false, "/data", "/logs", "/datalog")))
	check.Error(t, checkReplaceable(inspected(true, "/data", "/datalog")), "it is running")
	check.Error(t, checkReplaceable(inspected(false, "/data")), "its image old:1 has no volume for /datalog")
	check.Error(t, checkReplaceable(inspected(false)), "has no volume for /data,")
}

// TestUpgrade_keepsTheData has a member go on with what it has stored, in another container.
func TestUpgrade_keepsTheData(t *testing.T) {
	d := docker(t)
	image, err := pickImage(t.Context(), d, "", t.Logf)
	check.OK(t, err)
	check.OK(t, d.Close())
	versions := []ensembles.Version{{Name: "old", From: image}, {Name: "new", From: image}}
	e := start(t, ensembles.Options{Members: 1, Image: image, Versions: versions})
	m := e.Members[0]
	u := m.Machine.(ensembles.Upgrader)
	_, err = session(t, m).Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll))
	check.OK(t, err)
	check.Error(t, u.Upgrade(t.Context(), versions[1]), "it is running")
	check.OK(t, m.Machine.Stop(t.Context()))
	check.OK(t, u.Upgrade(t.Context(), versions[1]))
	check.OK(t, m.Machine.Start(t.Context()))
	check.OK(t, ensembles.WaitServing(check.Within(t, time.Minute), e))
	if name, err := u.CurrentVersion(t.Context()); err != nil || name != "new" {
		t.Errorf("it runs %s, %v", name, err)
	}
	if found, _, err := session(t, m).Exists("/kept"); !found || err != nil {
		t.Errorf("what it had stored is gone: %v", err)
	}
	dir := t.TempDir()
	check.OK(t, m.Machine.Save(t.Context(), dir))
	log, err := os.ReadFile(filepath.Join(dir, "zk1.log"))
	check.OK(t, err)
	if lives := strings.Count(string(log), "Starting quorum peer"); lives != 2 {
		t.Errorf("its log has %d starts, want those of both containers:\n%s", lives, log)
	}
}
