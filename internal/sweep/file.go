package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// file is a file of results that this process writes, and no other.
type file struct {
	name string
	f    *os.File

	dirty   chan struct{} // something was written since the last sync
	syncing sync.WaitGroup
	syncErr error // for close, after syncing
}

// open locks a file, reads it and makes it ready for more records. If its rows are to be
// replaced, or there is none, it is begun anew.
func open(name string, h header, resume, replace bool) (*file, *contents, error) {
	f, name, err := openLocked(name)
	if err != nil {
		return nil, nil, err
	}
	c, err := begun(f, name, h, resume, replace)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	out := &file{name: name, f: f, dirty: make(chan struct{}, 1)}
	out.syncing.Go(out.sync)
	return out, c, nil
}

// openLocked opens a file, made if need be, that is this process's until it is closed. The
// name returned is that of the file which a link leads to.
func openLocked(name string) (*os.File, string, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	for {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return nil, "", fmt.Errorf("%s is no regular file: choose another name for the results", name)
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, "", fmt.Errorf("no folder %s to write %s in: create it first", filepath.Dir(name), filepath.Base(name))
		} else if err != nil {
			return nil, "", err
		}
		if err := lock(f); err != nil {
			return nil, "", errors.Join(err, f.Close())
		}
		// Whoever had it before may have put another in its place.
		ours, err := f.Stat()
		if err != nil {
			return nil, "", errors.Join(err, f.Close())
		}
		if now, err := os.Stat(name); err == nil && os.SameFile(ours, now) {
			return f, name, nil
		}
		if err := f.Close(); err != nil {
			return nil, "", err
		}
	}
}

// begun is what a file has that can be gone on with. After it the file ends with a
// whole line.
func begun(f *os.File, name string, h header, resume, replace bool) (*contents, error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	c, err := parse(name, text)
	switch {
	case errors.Is(err, errForeign): // somebody else's, whatever is wanted of it
		return nil, err
	case !resume && replace:
		c = &contents{}
	case err != nil:
		return nil, err
	case !resume && len(c.records) > 0:
		return nil, fmt.Errorf("%s has %d of %d points: --resume goes on with them, --replace begins anew", name, len(c.records), c.header.Points)
	case !resume:
		c = &contents{}
	}
	if c.size > 0 {
		if err := c.differs(name, h); err != nil {
			return nil, err
		}
	}
	if int64(len(text)) > c.size {
		if err := f.Truncate(c.size); err != nil {
			return nil, fmt.Errorf("cut off what is of no use in %s: %w", name, err)
		}
	}
	if c.size > 0 {
		return c, nil
	}
	_, err = f.Write(append(h.line(), '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncFolder(name)
	}
	if err != nil {
		return nil, fmt.Errorf("begin %s: %w", name, err)
	}
	return c, nil
}

// append adds a record, which outlives the process from then on, and soon the machine.
// After an error the file must not be written any more: its last line may be a part.
func (out *file) append(r record) error {
	if _, err := out.f.Write(append(r.line(), '\n')); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	select {
	case out.dirty <- struct{}{}:
	default: // the sync that is due comes after this write
	}
	return nil
}

// sync brings what was written to the disk, all that has come together at once.
func (out *file) sync() {
	for range out.dirty {
		if err := out.f.Sync(); err != nil && out.syncErr == nil {
			out.syncErr = fmt.Errorf("write results: %w", err)
		}
	}
}

// close ends the writing; all records are on the disk then.
func (out *file) close() error {
	close(out.dirty)
	out.syncing.Wait()
	return errors.Join(out.syncErr, out.f.Close())
}

// rewrite replaces the file whole, or not at all.
func rewrite(f *os.File, name string, h header, records []record) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("put %s in order: %w", name, err)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	text.Write(append(h.line(), '\n'))
	for _, r := range records {
		text.Write(append(r.line(), '\n'))
	}
	temp := name + ".tmp" // ours, as the lock is; one that was left behind is overwritten
	t, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = t.Write(text.Bytes())
	if err == nil {
		err = t.Sync()
	}
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncFolder(name)
}

// syncFolder brings the name of a file to the disk.
func syncFolder(name string) error {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // not every file system can
	}
	return errors.Join(err, dir.Close())
}
