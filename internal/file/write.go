package file

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Writer writes a new file, which gets its name in Commit. Other processes see the data
// only after that. Files that are not regular, such as /dev/null or a pipe, are written
// directly.
type Writer struct {
	name   string      // the name given to Create
	path   string      // name with symbolic links followed
	before fs.FileInfo // the file to replace; nil if there is none
	f      *os.File    // the temporary file, or the file that is written directly
	temp   string      // name of the temporary file; "" if it has no name yet, or if direct
	direct bool        // f is written directly
}

// Create starts to write a file that replaces the file with this name, if there is one.
// Symbolic links are followed. A pipe, a device and the file of standard output are not
// replaced but written directly. Each Writer must be ended by Commit or Discard.
func Create(name string) (*Writer, error) {
	w := &Writer{name: name, path: name}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		w.path = target
	}
	info, err := os.Lstat(w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return nil, fmt.Errorf("write %s: %w", name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, refuse("write %s: it is a link to a file that does not exist: remove the link or create the file", name)
	case info.IsDir():
		return nil, refuse("write %s: it is a folder: name a file in it", name)
	case !info.Mode().IsRegular() || IsStdout(info):
		return w, w.openDirect(info)
	}
	w.before = info
	return w, w.openTemp()
}

// NameError reports that a file cannot be written under the name that the user gave.
type NameError struct{ text string }

func (e *NameError) Error() string { return e.text }

func refuse(format string, args ...any) error { return &NameError{fmt.Sprintf(format, args...)} }

// IsStdout reports whether info describes the file to which standard output goes. Such a
// file must not be replaced, because standard output would still go to the old file.
func IsStdout(info fs.FileInfo) bool {
	out, err := os.Stdout.Stat()
	return err == nil && os.SameFile(out, info)
}

// openDirect opens the file that info describes. The file is then written directly instead
// of being replaced.
func (w *Writer) openDirect(info fs.FileInfo) (err error) {
	w.direct = true
	if IsStdout(info) {
		w.f = os.Stdout
		return nil
	}
	w.f, err = os.OpenFile(w.path, os.O_WRONLY|nonblock, 0)
	if errors.Is(err, syscall.ENXIO) {
		return refuse("write %s: it is a pipe that no process reads: start the program that reads it first", w.name)
	}
	return w.wrapError(err)
}

// openTemp opens a temporary file in the folder of the file that it will replace.
func (w *Writer) openTemp() (err error) {
	perm := fs.FileMode(0o666) // the umask applies, as for any new file
	if w.before != nil {
		perm = w.before.Mode().Perm()
	}
	folder := filepath.Dir(w.path)
	if w.f, err = openUnnamed(folder, perm); errors.Is(err, errors.ErrUnsupported) {
		w.temp = filepath.Join(folder, tempName())
		w.f, err = os.OpenFile(w.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	}
	if err == nil && w.before != nil {
		if err = w.f.Chmod(perm); err != nil { // the umask may have removed bits
			err = errors.Join(err, w.Discard())
		}
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(folder); err == nil {
			return refuse("write %s: no file can be created in %s: choose another folder", w.name, filepath.Dir(w.name))
		}
		return refuse("no folder %s to write %s in: create it first", filepath.Dir(w.name), filepath.Base(w.name))
	}
	return w.wrapError(err)
}

// wrapError returns err as an error with the name that was given to Create, or nil if err
// is nil.
func (w *Writer) wrapError(err error) error {
	if err == nil {
		return nil
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return &fs.PathError{Op: "write", Path: w.name, Err: err}
}

// tempName returns a name that no other process can predict.
func tempName() string { return ".kernbench-" + rand.Text() }

// Write appends p to the file.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	return n, w.wrapError(err)
}

// ChangedError reports that another process has changed the file to be replaced since
// Create.
type ChangedError struct {
	Name string
	Kept string // name of the file that has the written data
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("another process has changed %s meanwhile: that file is left as it is, and what was to be written there is in %s", e.Name, e.Kept)
}

// Commit syncs the data to the disk and gives the file its name. If Commit cannot give the
// file its name, the old file with that name is unchanged. If another process has changed
// the old file since Create, the error is a [*ChangedError], and the data is kept under
// another name in the same folder. A file that is written directly is only closed.
func (w *Writer) Commit() error {
	if w.direct {
		return w.closeDirect()
	}
	err := w.f.Sync()
	if err == nil {
		err = w.place()
	}
	if err = errors.Join(err, w.f.Close()); err == nil {
		err = SyncFolder(w.path)
	}
	if _, changed := errors.AsType[*ChangedError](err); err == nil || changed {
		return err
	}
	return errors.Join(w.wrapError(err), w.removeTemp())
}

func (w *Writer) closeDirect() error {
	if w.f == os.Stdout {
		return nil
	}
	return w.wrapError(w.f.Close())
}

// place gives the temporary file the name w.path. If another process has changed the file
// with this name, place calls keep instead.
func (w *Writer) place() error {
	now, err := os.Lstat(w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err = w.link(w.path); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return w.keep()
	case err != nil:
		return err
	case w.before == nil || !isUnchanged(w.before, now):
		return w.keep()
	}
	if w.temp == "" {
		temp := filepath.Join(filepath.Dir(w.path), tempName())
		if err := w.link(temp); err != nil {
			return err
		}
		w.temp = temp
	}
	return w.rename(w.path)
}

// rename gives the temporary file a new name.
func (w *Writer) rename(name string) error {
	err := os.Rename(w.temp, name)
	if err == nil {
		w.temp = ""
	}
	return err
}

// isUnchanged reports whether `before` and `now` describe the same file, with the same size
// and modification time.
func isUnchanged(before, now fs.FileInfo) bool {
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// keep gives the temporary file an unused name in the same folder and returns a
// *ChangedError with that name.
func (w *Writer) keep() error {
	kept := UnusedName(w.path)
	if err := w.link(kept); err != nil {
		return err
	}
	return &ChangedError{w.name, kept}
}

// UnusedName returns a random name that is similar to `name` and has the same extension.
func UnusedName(name string) string {
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s.kept-%s%s", strings.TrimSuffix(name, ext), strings.ToLower(rand.Text()[:8]), ext)
}

// link gives the temporary file a name. No file with this name may exist.
func (w *Writer) link(name string) error {
	if w.temp == "" {
		return linkUnnamed(w.f, name)
	}
	err := os.Link(w.temp, name)
	switch {
	case err == nil:
		return w.removeTemp()
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return w.rename(name) // the file system may not support hard links
}

// removeTemp removes the temporary file if it has a name.
func (w *Writer) removeTemp() error {
	if w.temp == "" {
		return nil
	}
	err := os.Remove(w.temp)
	w.temp = ""
	return err
}

// Discard closes and removes the temporary file. A file that is written directly is only
// closed.
func (w *Writer) Discard() error {
	if w.direct {
		return w.closeDirect()
	}
	return errors.Join(w.f.Close(), w.removeTemp())
}

// Write replaces the file with this name by a file with the given content. If the new file
// cannot be written completely, the old file is unchanged; see [Create] and
// [Writer.Commit].
func Write(name string, data []byte) error {
	w, err := Create(name)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Discard())
	}
	return w.Commit()
}

// SyncFolder syncs the folder of a file to the disk, so that the name of the file is on the
// disk, too.
func SyncFolder(name string) error {
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // the file system may not support it
	}
	return errors.Join(err, folder.Close())
}
