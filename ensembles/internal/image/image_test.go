package image

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/internal/wait"
)

// needBuild skips a test where the image cannot be built.
func needBuild(t *testing.T) {
	t.Helper()
	if err := CanBuild(); err != nil {
		t.Skip(err)
	}
	if err := exec.Command("docker", "version").Run(); err != nil {
		t.Skip("no Docker here")
	}
}

func TestImage_keepsTheContract(t *testing.T) {
	needBuild(t)
	check.OK(t, Build(t.Context(), ""))
	for name, test := range map[string]struct{ command, want string }{
		"the server runs as its own user":         {`id -un`, "zookeeper\n"},
		"myid is written where there is none":     {`cat /data/myid`, "7\n"},
		"zoo.cfg is written where there is none":  {`grep ^dataDir /conf/zoo.cfg`, "dataDir=/data\n"},
		"what exists is left alone":               {`echo 3 >/data/myid; docker-entrypoint.sh cat /data/myid`, "3\n"},
		"the data belongs to the server's user":   {`stat -c %U /data /datalog`, "zookeeper\nzookeeper\n"},
		"starting is on the path":                 {`command -v zkServer.sh`, "/usr/local/bin/zkServer.sh\n"},
		"the archive of classes suits the JVM":    {`java -XX:SharedArchiveFile=/usr/lib/zookeeper/classes.jsa -Xshare:on -XX:+UseSerialGC -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar -version 2>&1 | grep -o sharing`, "sharing\n"},
		"neither mirrors nor proxies stay inside": {`ls /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d/99mmdebstrap 2>/dev/null; echo none`, "none\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", "--network", "none",
				"--env", "ZOO_MY_ID=7", Name, "sh", "-c", test.command).Output()
			if err != nil || string(out) != test.want {
				t.Errorf("%s: %q, %v; want %q", test.command, out, err, test.want)
			}
		})
	}
}

func TestZkServer_knowsOneVerb(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "sh", "zkServer.sh", "status").CombinedOutput()
	check.Contains(t, string(out), "usage: zkServer.sh start-foreground")
	check.Error(t, err, "exit status")
}

// An interrupted build leaves neither folders nor mounts.
func TestBuild_leavesNothingWhenInterrupted(t *testing.T) {
	needBuild(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() { // until mmdebstrap has made its folder, and so has begun
		defer cancel()
		_ = wait.Until(ctx, 20*time.Millisecond, func() bool { // or until the time is up
			found, _ := filepath.Glob(filepath.Join(tmp, "zkbench-image-*", "mmdebstrap.*", "*"))
			return len(found) > 0
		})
	}()
	err := build(ctx, "", "zkbench/interrupted:3.8.0")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("not interrupted: %v", err)
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	if mounts, _ := os.ReadFile("/proc/mounts"); strings.Contains(string(mounts), tmp) {
		t.Errorf("left mounted below %s:\n%s", tmp, mounts)
	}
}
