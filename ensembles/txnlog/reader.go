package txnlog

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Reader reads one member's log.
type Reader struct {
	// TruncatedFiles counts files that end inside an entry: a server was killed while it wrote, or is
	// writing now. Such an entry is not delivered.
	TruncatedFiles int
	Unknown        int // entries so far that could not be decoded completely

	after int64
	files []io.Reader

	file   io.Reader
	src    *bufio.Reader // of file; nil between files
	offset int64         // in file, of the next entry
	buf    bytes.Buffer
	last   int64 // zxid
	cut    int   // 1 if the last file so far ends inside an entry

	err error
}

// NewReader returns a reader of one member's log files, oldest first. It skips entries up to the zxid after.
func NewReader(after int64, files ...io.Reader) *Reader {
	return &Reader{after: after, last: after, files: files}
}

// Next returns the next entry, or io.EOF after the last entry. If an entry is damaged and is not the
// last of its file, the error contains its position.
func (r *Reader) Next() (Entry, error) {
	for r.err == nil {
		txn, err := r.txn()
		if err != nil {
			r.err = err
			break
		}
		f := fields{rest: txn}
		e, code := f.header()
		switch {
		case f.short:
			r.Unknown++
		case e.Zxid > r.last: // other entries are repeated after a restart, or not requested
			r.last = e.Zxid
			if !e.body(code, &f) {
				r.Unknown++
			}
			return e, nil
		}
	}
	return Entry{}, r.err
}

// txn returns the bytes of the next transaction, valid until the next call.
func (r *Reader) txn() ([]byte, error) {
	for {
		if r.src == nil {
			if len(r.files) == 0 {
				return nil, io.EOF
			}
			r.file, r.files = r.files[0], r.files[1:]
			if err := r.open(); err != nil {
				return nil, err
			}
			continue
		}
		txn, err := r.entry()
		if txn != nil || err != nil {
			return txn, err
		}
		r.src = nil
	}
}

// open reads a file's header: magic, version, database ID. A server that died before it wrote the
// header leaves an empty file.
func (r *Reader) open() error {
	src := bufio.NewReaderSize(r.file, 1<<16)
	var head [16]byte
	n, err := io.ReadFull(src, head[:])
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		if n > 0 {
			r.TruncatedFiles++
		}
		return nil
	case err != nil:
		return r.wrapError(err)
	case string(head[:4]) != "ZKLG":
		return r.wrapError(fmt.Errorf("not a transaction log: it begins with %q", head[:4]))
	}
	if version := binary.BigEndian.Uint32(head[4:]); version != 2 {
		return r.wrapError(fmt.Errorf("version %d of the transaction log is not supported: only version 2 is", version))
	}
	r.src, r.offset, r.cut = src, int64(len(head)), 0
	return nil
}

// entry reads one entry: checksum, length, transaction, and the byte 'B'. It returns nil at the end
// of the file, which may be filled with zeros.
func (r *Reader) entry() ([]byte, error) {
	var head [12]byte
	n, err := io.ReadFull(r.src, head[:])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		if !zeros(head[:n]) {
			r.TruncatedFiles++
			r.cut = 1
		}
		return nil, nil
	}
	if err != nil {
		return nil, r.wrapError(err)
	}
	sum, size := binary.BigEndian.Uint64(head[:]), int32(binary.BigEndian.Uint32(head[8:]))
	if size <= 0 {
		if zeros(head[:]) {
			return nil, nil
		}
		return nil, r.damaged(fmt.Sprintf("its length is %d", size))
	}
	txn, err := r.read(int64(size) + 1)
	if err == io.EOF {
		r.TruncatedFiles++
		r.cut = 1
		return nil, nil
	}
	if err != nil {
		return nil, r.wrapError(err)
	}
	txn, end := txn[:size], txn[size]
	if got := uint64(adler32.Checksum(txn)); got != sum {
		return nil, r.damaged(fmt.Sprintf("its checksum is %#x, not %#x", got, sum))
	}
	if end != 'B' {
		return nil, r.damaged("its last byte is missing")
	}
	r.offset += int64(len(head)) + int64(size) + 1
	return txn, nil
}

// read returns the next n bytes. The buffer grows as the bytes arrive, so that a damaged length needs no more
// memory than the file's size.
func (r *Reader) read(n int64) ([]byte, error) {
	r.buf.Reset()
	_, err := io.CopyN(&r.buf, r.src, n)
	return r.buf.Bytes(), err
}

// damaged skips the rest of the file if the damaged entry is the last one, and returns an error otherwise.
func (r *Reader) damaged(how string) error {
	rest, err := io.ReadAll(r.src)
	switch {
	case err != nil:
		return r.wrapError(err)
	case !zeros(rest):
		return r.wrapError(errors.New("the entry is damaged: " + how))
	}
	r.TruncatedFiles++
	return nil
}

func (r *Reader) wrapError(err error) error {
	name := "transaction log"
	if named, ok := r.file.(interface{ Name() string }); ok {
		name = named.Name()
	}
	return fmt.Errorf("%s, byte %d, after zxid %#x: %w", name, r.offset, r.last, err)
}

func zeros(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

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
