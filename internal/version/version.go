// Package version identifies the running build of kernbench. Results record it.
package version

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// Version is the version of kernbench that results record.
const Version = "0.1.0"

// module is the module path of kernbench in the build information of any program that
// contains it.
const module = "github.com/kernbench/kernbench"

// Build describes what a binary was built from.
type Build struct {
	Version  string `json:"version"`
	Module   string `json:"module"`             // module path of kernbench
	Resolved string `json:"module_version"`     // version of the module in the build; "(devel)" in a checkout
	Program  string `json:"program"`            // path of the main package
	Go       string `json:"go"`                 // version of the toolchain
	Revision string `json:"revision,omitempty"` // revision of the program's repository
	Modified bool   `json:"modified,omitempty"` // the program's tree had uncommitted changes
}

// ReadBuild reads the build information of the running binary.
func ReadBuild() Build {
	b := Build{Version: Version, Module: module, Resolved: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Program, b.Go = info.Path, info.GoVersion
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			b.Resolved = m.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// WriteText writes the fields of the build, one line per field.
func (b Build) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "kernbench %s\nmodule    %s %s\nprogram   %s\ngo        %s\n", b.Version, b.Module, b.Resolved, b.Program, b.Go)
	if b.Revision != "" {
		modified := ""
		if b.Modified {
			modified = " (modified)"
		}
		_, err = fmt.Fprintf(w, "revision  %s%s\n", b.Revision, modified)
	}
	return err
}

// Program returns the version and a hash of the running binary. The version by itself does
// not distinguish builds before and after a change of a kernel.
var Program = sync.OnceValues(func() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return Version + " " + hex.EncodeToString(sum.Sum(nil)[:6]), nil
})
