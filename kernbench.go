// Package kernbench has the kernbench command as a function. A program that calls it is the
// kernbench command, together with the benches, algorithms and scenarios that the program
// registers:
//
//	package main
//
//	import "github.com/kernbench/kernbench"
//
//	func main() { kernbench.Main() }
//
// Package internal/cli implements the command; the simulator is in the other packages of
// this module.
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

// Version is the version of kernbench that results record.
const Version = version.Version

// Main runs the command line of the program and exits with its status. The first Ctrl-C
// ends the command in an orderly way; a second one ends the program immediately.
func Main() {
	launch.Child() // if this process is a rank, it runs the rank and exits
	host.LimitHeap()
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s, _ := (<-signals).(syscall.Signal)
		signal.Stop(signals)
		cancel(cli.Signal{Signal: s})
	}()
	os.Exit(Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Run runs kernbench with arguments, without the program's name, and returns the exit
// status. It is for tests, and for programs that continue after the command.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Run(ctx, args, stdout, stderr)
}
