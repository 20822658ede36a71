// Package kernbench is the kernbench command as a function, for a program of your
// own to be it:
//
//	package main
//
//	import "github.com/kernbench/kernbench"
//
//	func main() { kernbench.Main() }
//
// The command itself is internal/cli, the simulator's parts are the packages
// beside it.
package kernbench

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/cli"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/version"
)

// Version is the version that results carry.
const Version = version.Version

// Main runs the command line of the program and exits with its status. The first
// Ctrl-C asks what runs to end; a second one ends the program at once.
func Main() {
	launch.Child() // a rank of a run is this program again
	host.LimitHeap()
	ctx, cancel := context.WithCancelCause(context.Background())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	go func() {
		s, _ := (<-asked).(syscall.Signal)
		signal.Stop(asked)
		cancel(cli.Signal{Signal: s})
	}()
	os.Exit(Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Run is Main for tests and for programs that go on afterwards: it runs the
// arguments, without the program's name, and returns the exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, args, stdout, stderr)
}
