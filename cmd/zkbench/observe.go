package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/observe"
	"github.com/zkbench/zkbench/scenarios/production"
)

type observeFlags struct {
	limits   observe.Limits
	live     production.Config
	ensemble string
	json     bool
	out      string
}

func observeCmd() *cobra.Command {
	var f observeFlags
	cmd := &cobra.Command{
		Use:   "observe LOGS... --path PATH",
		Short: "Report the holders of the locks of a live system, from its transaction logs or its nodes",
		Long:  page("observe"),
		Example: `  zkbench observe /var/lib/zookeeper --path /locks
  zkbench observe zk1/ zk2/ zk3/ --path /services/scheduler/leader --max-hold 10m --max-expired 0
  zkbench observe --servers zk1:2181,zk2:2181 --path /locks --for 10m --interval 500ms`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.live.Path, "path", "", "observe the parents at and below this node, such as /locks (required)")
	fl.StringSliceVar(&f.live.Servers, "servers", nil, "read from these servers (host:port,...) instead of logs")
	fl.StringVar(&f.ensemble, "ensemble", "", "read from the servers in a FILE.yaml, with its TLS and authentication (zkbench help ensembles)")
	fl.StringVar(&f.live.Chroot, "chroot", "", "with --servers: prefix to add to --path")
	fl.DurationVar(&f.live.For, "for", time.Minute, "with --servers: how long to observe; press Ctrl-C to stop earlier")
	fl.DurationVar(&f.live.Interval, "interval", time.Second, "with --servers: time between two reads of a parent, at least 100ms; at most 100 requests are sent per second")
	fl.DurationVar(&f.limits.MaxHold, "max-hold", 0, "limit: the longest time for which a node may be first in line (0: no limit)")
	fl.DurationVar(&f.limits.MaxWait, "max-wait", 0, "limit: the longest time that a node may wait until it is first in line (0: no limit)")
	fl.DurationVar(&f.limits.MaxVacant, "max-vacant", 0, "limit: the longest time after a hold, until the next or the end, during which there is no node; the end does not count if the parent was removed (0: no limit)")
	fl.IntVar(&f.limits.MaxContenders, "max-contenders", 0, "limit: the largest number of nodes below a parent (0: no limit)")
	fl.IntVar(&f.limits.MaxExpired, "max-expired", -1, "limit: the largest number of sessions that may expire while first in line below a parent (-1: no limit)")
	fl.BoolVar(&f.json, "json", false, "print the observation as JSON on stdout instead of tables")
	fl.StringVar(&f.out, "out", "", "folder for the page and "+observe.ResultFile+" (default zkbench-out/observe-TIME)")
	return cmd
}

func (f *observeFlags) run(cmd *cobra.Command, logs []string) error {
	live := len(f.live.Servers) > 0 || f.ensemble != ""
	if err := f.check(cmd, logs, live); err != nil {
		return usage(err)
	}
	f.live.Path = "/" + strings.Trim(f.live.Path, "/")
	t := observe.NewTracker(f.live.Path, f.limits)
	var o *observe.Observation
	var err error
	if live {
		o, err = production.Live(cmd.Context(), f.live, t)
	} else {
		o, err = production.Logs(cmd.Context(), logs, t)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: name the members' dataLogDir, or files log.ZXID", err)
	}
	if err != nil {
		return usage(err)
	}
	return f.show(cmd, o)
}

func (f *observeFlags) check(cmd *cobra.Command, logs []string, live bool) error {
	switch {
	case f.live.Path == "":
		return errors.New("--path is required: the parent of the locks' nodes, or a node above it, such as /locks")
	case live && len(logs) > 0:
		return errors.New("name either LOGS or --servers, not both")
	case !live && len(logs) == 0:
		return errors.New("no transaction logs given: name files log.ZXID or folders that contain them, or use --servers")
	case f.live.Interval < 100*time.Millisecond:
		return fmt.Errorf("--interval %v: want at least 100ms", f.live.Interval)
	case min(f.limits.MaxHold, f.limits.MaxWait, f.limits.MaxVacant) < 0:
		return errors.New("--max-hold, --max-wait and --max-vacant: want 0 (no limit) or more")
	case f.limits.MaxContenders < 0 || f.limits.MaxExpired < -1:
		return errors.New("--max-contenders: want 0 (no limit) or more; --max-expired: want -1 (no limit) or more")
	case f.live.For <= 0:
		return fmt.Errorf("--for %v: want a time above 0", f.live.For)
	}
	for _, name := range []string{"chroot", "for", "interval"} {
		if !live && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s requires --servers or --ensemble", name)
		}
	}
	if !live {
		return nil
	}
	o := ensembles.Options{Servers: f.live.Servers, Chroot: f.live.Chroot}
	if f.ensemble != "" {
		if len(f.live.Servers) > 0 {
			return errors.New("--ensemble FILE.yaml names the servers: remove --servers")
		}
		var err error
		if o, err = external.Load(f.ensemble); err != nil {
			return err
		}
		f.live.Servers, f.live.Security = o.Servers, o.External.Security
	}
	return external.Check(o)
}

func (f *observeFlags) show(cmd *cobra.Command, o *observe.Observation) error {
	v := o.View()
	var err error
	if f.json {
		err = printJSON(cmd.OutOrStdout(), o)
	} else {
		err = showWhole(cmd.OutOrStdout(), v)
	}
	dir, pageErr := writePage(cmd.ErrOrStderr(), f.out, v)
	if err := errors.Join(err, pageErr); err != nil {
		return err
	}
	var text bytes.Buffer
	if err = printJSON(&text, o); err == nil {
		err = report.WriteFile(dir, observe.ResultFile, text.Bytes())
	}
	return errors.Join(err, resultError(v.Result, "a limit was exceeded", o.Sentence()))
}
