package txnlog

import (
	"archive/tar"
	"bytes"
	"cmp"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// headerSize is the length of a log file's header: magic, version, database ID.
const headerSize = 16

// untarred is a transaction log of a member. Like an os.File it has a name.
type untarred struct {
	io.Reader
	name string
}

func (f untarred) Name() string { return f.name }
func (f untarred) Close() error { return nil }

// Untar returns the transaction logs, in an archive of a member's folder, that can contain entries after
// a zxid. To save memory it selects files by name, and drops the zeros at the end of a file.
func Untar(archive io.Reader, after int64) ([]io.ReadCloser, error) {
	files := map[string][]byte{}
	needed := func() []string { return Select(slices.Collect(maps.Keys(files)), after) }
	for in := tar.NewReader(archive); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		name := path.Base(header.Name)
		files[name] = nil
		keep := needed()
		maps.DeleteFunc(files, func(name string, _ []byte) bool { return !slices.Contains(keep, name) })
		if !slices.Contains(keep, name) {
			continue
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		// An entry never ends with a zero byte, but the file's header may, and must be kept.
		end := max(len(bytes.TrimRight(content, "\x00")), min(len(content), headerSize))
		files[name] = bytes.Clone(content[:end])
	}
	var logs []io.ReadCloser
	for _, name := range needed() {
		logs = append(logs, untarred{bytes.NewReader(files[name]), name})
	}
	return logs, nil
}

// Select returns the logs that can contain entries after a zxid, oldest first. A name has its first entry's zxid.
func Select(names []string, after int64) []string {
	type log struct {
		name  string
		first int64
	}
	var logs []log
	for _, name := range names {
		digits, isLog := strings.CutPrefix(name, "log.")
		if first, err := strconv.ParseInt(digits, 16, 64); isLog && err == nil {
			logs = append(logs, log{name, first})
		}
	}
	slices.SortFunc(logs, func(a, b log) int { return cmp.Compare(a.first, b.first) })
	var selected []string
	for i, l := range logs {
		if i+1 < len(logs) && logs[i+1].first <= after+1 {
			continue // all requested entries are in later files
		}
		selected = append(selected, l.name)
	}
	return selected
}
