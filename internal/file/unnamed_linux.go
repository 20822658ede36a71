package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ownFiles is the folder with a link for each open file of this process.
const ownFiles = "/proc/self/fd"

// openUnnamed opens a new file without a name in a folder. The file is removed when the
// process ends, unless linkUnnamed has given it a name. The error is errors.ErrUnsupported
// if the file system has no such files, or if the folder ownFiles, which linkUnnamed needs,
// does not exist.
func openUnnamed(folder string, perm fs.FileMode) (*os.File, error) {
	if _, err := os.Stat(ownFiles); err != nil {
		return nil, errors.ErrUnsupported // linkUnnamed needs the folder
	}
	f, err := os.OpenFile(folder, os.O_WRONLY|unix.O_TMPFILE, perm)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return nil, errors.ErrUnsupported
	}
	return f, err
}

// linkUnnamed gives the file f, which openUnnamed has opened, a name. No file with this
// name may exist.
func linkUnnamed(f *os.File, name string) error {
	err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("%s/%d", ownFiles, f.Fd()), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "link", Old: f.Name(), New: name, Err: err}
	}
	return nil
}
