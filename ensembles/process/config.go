//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// Files of one member, in the folder DIR/NAME.
const (
	cfgFile = "zoo.cfg"
	logFile = "zookeeper.log"
)

// memberDir is the folder that holds everything of one member.
func memberDir(r *state.Record, m state.Member) string { return filepath.Join(r.Dir, m.Name) }

// writeConfig makes the folder of a member: zoo.cfg, myid, and an empty data folder.
func writeConfig(r *state.Record, m state.Member) error {
	data := filepath.Join(memberDir(r, m), "data")
	err := os.MkdirAll(data, 0o755)
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(m.ID)+"\n"), 0o644),
			os.WriteFile(filepath.Join(memberDir(r, m), cfgFile), []byte(zooCfg(r, m)), 0o644))
	}
	if err != nil {
		return fmt.Errorf("configuring %s: %w", m.Name, err)
	}
	return nil
}

// zooCfg is the content of a member's zoo.cfg.
func zooCfg(r *state.Record, m state.Member) string {
	return setup.ZooCfg(r, m.NetNS != "", "dataDir="+filepath.Join(memberDir(r, m), "data"))
}
