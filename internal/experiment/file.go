package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kernbench/kernbench/internal/file"
)

// output is the file of results that this process writes.
type output struct {
	name   string
	f      *os.File
	info   fs.FileInfo
	header header

	dirty   chan struct{} // signals a write since the last sync
	syncing sync.WaitGroup
	syncErr error // first error of a sync, which close returns
}

// open locks the file o.File, reads it and prepares it for more records. If there is
// nothing to continue, or if o.Replace discards the rows, open begins the file anew. Before
// any row, open adds the columns if the file lacks them. If the file lacks points, open
// also adds the checksums and the name of this program where they are missing. open returns
// the file to write to and the contents to continue from.
func open(ctx context.Context, o Options, h header) (*output, *contents, error) {
	for {
		f, name, err := openLocked(o.File)
		if err != nil {
			return nil, nil, &FileError{err}
		}
		c, err := o.accept(ctx, f, name, h)
		if err != nil {
			return nil, nil, &FileError{errors.Join(err, f.Close())}
		}
		hasSchema := len(c.header.Schema) > 0 || len(h.Schema) == 0
		if c.size > 0 && (!hasSchema || c.missing() > 0 && (!c.hasChecksums || !c.header.hasPrograms(h.Programs))) {
			// Add checksums, the columns and the name of this program to the file before
			// any row.
			c.header.Schema = h.Schema
			if c.missing() > 0 {
				c.header.addPrograms(h.Programs)
			}
			if err := errors.Join(file.Write(name, lines(c.header, c.records)), f.Close()); err != nil {
				return nil, nil, fmt.Errorf("continue %s: %w", name, err)
			}
			continue
		}
		if err := prepareFile(f, name, c, h); err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		out, err := newOutput(f, name, c.header)
		return out, c, err
	}
}

// newOutput returns an output for an open file and starts to sync it in the background.
func newOutput(f *os.File, name string, h header) (*output, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	out := &output{name: name, f: f, info: info, header: h, dirty: make(chan struct{}, 1)}
	out.syncing.Go(out.sync)
	return out, nil
}

// openLocked opens a file, or creates it, and locks it until it is closed. It follows links
// and returns the name of the file that was opened.
func openLocked(name string) (*os.File, string, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	for {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return nil, "", fmt.Errorf("%s is no regular file: choose another name for the results", name)
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
		if _, missing := os.Stat(filepath.Dir(name)); errors.Is(err, fs.ErrNotExist) && errors.Is(missing, fs.ErrNotExist) {
			return nil, "", fmt.Errorf("no folder %s to write %s in: create it first", filepath.Dir(name), filepath.Base(name))
		} else if err != nil {
			return nil, "", err
		}
		if err := lock(f); err != nil {
			return nil, "", errors.Join(err, f.Close())
		}
		// The process that held the lock before may have replaced the file.
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

// accept checks whether the sweep with header h may write to file f. It returns the
// contents that the sweep continues from, which are empty if the sweep begins the file
// anew. Points of another build of the program are kept with a warning, or are an error if
// o.Strict is set.
func (o Options) accept(ctx context.Context, f *os.File, name string, h header) (*contents, error) {
	r, err := file.NewReader(ctx, f, maxFileBytes)
	if err != nil {
		return nil, err
	}
	c, err := parse(name, r)
	switch {
	case errors.Is(err, errForeign): // such a file is never overwritten
		return nil, err
	case !o.Resume && o.Replace:
		return &contents{}, nil
	case err != nil:
		return nil, err
	case !o.Resume && len(c.records) > 0:
		return nil, fmt.Errorf("%s has %d of %d points: --resume continues them, --replace starts again", name, len(c.records), c.header.Points)
	case !o.Resume:
		return &contents{}, nil
	case c.size == 0:
		return c, nil
	}
	if err := c.checkHeader(name, h); err != nil {
		return nil, err
	}
	if others := c.header.otherPrograms(o.Program); len(others) > 0 {
		text := fmt.Sprintf("%s has points of another build of the program (%s, and this is %s)", name, strings.Join(others, ", "), o.Program)
		if o.Strict {
			return nil, fmt.Errorf("%s: leave out --strict to keep them, or --resume to start the file again", text)
		}
		o.Warn(text + ": they are kept, since the points and their configuration are the same; --strict refuses them")
	}
	return c, nil
}

// prepareFile truncates file f after the last whole line that c describes. If c is empty,
// it removes everything from the file, writes header h and sets c.header to h.
func prepareFile(f *os.File, name string, c *contents, h header) error {
	info, err := f.Stat()
	if err == nil && info.Size() > c.size {
		err = f.Truncate(c.size)
	}
	if err != nil {
		return fmt.Errorf("cut off the unusable end of %s: %w", name, err)
	}
	if c.size > 0 {
		return nil
	}
	c.header = h
	_, err = f.Write(append(h.line(), '\n'))
	if err = errors.Join(err, f.Sync(), file.SyncFolder(name)); err != nil {
		return fmt.Errorf("begin %s: %w", name, err)
	}
	return nil
}

// append adds a record to the file. From then on the record is safe if the process is
// killed, and after the next sync also if the computer fails. After an error the file must
// not be written any more, because its last line may be incomplete.
func (out *output) append(r record) error {
	if _, err := out.f.Write(append(r.line(out.header.seed()), '\n')); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	select {
	case out.dirty <- struct{}{}:
	default: // a sync is already due and will include this write
	}
	return nil
}

// sync flushes the file to the disk whenever a record was added, until the output is
// closed. One flush covers all records that were added before it.
func (out *output) sync() {
	for range out.dirty {
		if err := out.f.Sync(); err != nil && out.syncErr == nil {
			out.syncErr = fmt.Errorf("write results: %w", err)
		}
	}
}

// close stops the syncing and closes the file. All records are then on the disk.
func (out *output) close() error {
	close(out.dirty)
	out.syncing.Wait()
	return errors.Join(out.syncErr, out.f.Close())
}
