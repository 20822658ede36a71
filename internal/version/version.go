// Package version tells which build of kernbench runs: results carry it.
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

// Version is the version of kernbench that results carry.
const Version = "0.1.0"

// module is the path under which a build lists kernbench, whoever's program it
// is part of.
const module = "github.com/kernbench/kernbench"

// Build says what a binary was built from.
type Build struct {
	Version  string `json:"version"`
	Module   string `json:"module"`             // of kernbench
	Resolved string `json:"module_version"`     // as the build resolved it; "(devel)" in a checkout
	Program  string `json:"program"`            // main package of the binary
	Go       string `json:"go"`                 // toolchain
	Revision string `json:"revision,omitempty"` // of the program's repository
	Modified bool   `json:"modified,omitempty"` // the program's tree had changes
}

// ReadBuild returns the build of the running binary.
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

// WriteText writes the build, a line for each part.
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

// Program returns the version and a hash of the running binary. The version alone does not
// tell a kernel from the one that it was before it was changed.
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
