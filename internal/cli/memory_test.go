package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/host/hosttest"
)

// TestControlGroup runs a command that needs more memory than the 256 MiB of its control
// group. It checks that the command ends with an error that gives the reason, and is not
// killed.
func TestControlGroup(t *testing.T) {
	group := hosttest.Group(t, 256<<20)
	free := regexp.MustCompile(`and 0\.2\d* GB are free`)
	for command, need := range map[string]string{
		"comm run all_reduce --set count=10000000":                  "the buffers of 4 ranks: 0.817 GB of memory are needed, and FREE of the 0.268 GB that control group /GROUP allows: take fewer ranks, or smaller buffers",
		"comm run all_reduce --set count=10000000 --backend inproc": "the buffers of 4 ranks: 0.8 GB of memory are needed, and FREE of the 0.268 GB that control group /GROUP allows: take fewer ranks, or smaller buffers",
		"coll all_reduce --on shm -b 128M -e 128M":                  "the buffers of 2 ranks: 0.285 GB of memory are needed, and FREE of the 0.268 GB that control group /GROUP allows: take smaller sizes, fewer ranks or fewer iterations",
		"coll all_reduce --on inproc -b 128M -e 128M":               "the buffers of 2 ranks: 0.277 GB of memory are needed, and FREE of the 0.268 GB that control group /GROUP allows: take smaller sizes, fewer ranks or fewer iterations",
	} {
		cmd := exec.Command(os.Args[0], strings.Fields(command)...)
		cmd.Args[0] = "kernbench" // TestMain chooses the command by this name
		cmd.Env = append(os.Environ(), groupVariable+"="+group)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitUsage {
			t.Errorf("%s: %v, want exit status %d", command, err, exitUsage)
		}
		got := strings.ReplaceAll(free.ReplaceAllString(errs.String(), "and FREE"), filepath.Base(group), "GROUP")
		if want := fmt.Sprintf("kernbench: %s\n", need); got != want || out.Len() > 0 {
			t.Errorf("%s: says\n%s%swant\n%s", command, out.String(), got, want)
		}
	}
}
