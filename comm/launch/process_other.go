//go:build !linux

package launch

import (
	"context"
	"errors"
)

// Child returns at once, because ranks can be processes only on Linux.
func Child() {}

func startProcesses(context.Context, Options, *output, order, *supervisor) (func() error, error) {
	return nil, errors.New("processes can be ranks on Linux alone: use backend inproc")
}

func killedForMemory(error) bool { return false }

func bind(int, int) error { return errors.New("only Linux binds threads") }
