package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file whole or not at all: to a temporary one beside it,
// which then takes its place. A link is followed; what is no regular file, such
// as /dev/stdout, is written straight.
func WriteFile(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o666) // less the umask, as for any new file
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return os.WriteFile(path, data, mode)
		}
		mode = info.Mode().Perm()
	}
	temp := fmt.Sprintf("%s.tmp%d", path, os.Getpid())
	if err := os.WriteFile(temp, data, mode); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("no folder %s to write %s in: create it first", filepath.Dir(path), filepath.Base(path))
		}
		return errors.Join(fmt.Errorf("write %s: %w", path, err), removeIfThere(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), removeIfThere(temp))
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
