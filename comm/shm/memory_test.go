//go:build linux

package shm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/shm"
	"github.com/kernbench/kernbench/internal/host/hosttest"
)

// runLaunched creates the memory of a run as a launcher does, and runs body on every rank.
// The ranks are goroutines. `body` receives the communicator and the memory of the run.
func runLaunched(t *testing.T, nranks int, body func(c *comm.Comm, memory *os.File) error) {
	t.Helper()
	memory, holder, err := shm.Create(nranks)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	defer holder.Close()
	errs := make([]error, nranks)
	var wg sync.WaitGroup
	for rank := range nranks {
		wg.Go(func() {
			c, err := comm.Open(context.Background(), rank, nranks, fmt.Sprintf("fd:%d", memory.Fd()), comm.Options{Timeout: commtest.Patience})
			if err == nil {
				err = errors.Join(body(c, memory), c.Close())
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	commtest.Succeed(t, errs)
}

// countPages returns the number of allocated pages in the memory of a run.
func countPages(memory *os.File) (int64, error) {
	var s unix.Stat_t
	err := unix.Fstat(int(memory.Fd()), &s)
	return s.Blocks * 512 / 4096, err
}

// TestFreed checks that the pages of a window or a domain are freed when its last member
// has closed it. It also checks that a thousand closed domains leave no pages.
func TestFreed(t *testing.T) {
	runLaunched(t, 3, func(c *comm.Comm, memory *os.File) error {
		// expect counts pages between two barriers, while no rank allocates or frees.
		expect := func(what string, before, want int64) error {
			if err := c.Barrier(); err != nil {
				return err
			}
			got, err := countPages(memory)
			if err == nil && got-before != want {
				err = fmt.Errorf("%s: got %d pages more, want %d", what, got-before, want)
			}
			return errors.Join(err, c.Barrier())
		}
		before, err := countPages(memory)
		if err != nil {
			return err
		}
		if err := expect("nothing", before, 0); err != nil {
			return err
		}
		w, err := c.AllocWindow(10*4096, 1) // 11 pages at each rank, and one for the count of members that have freed it
		if err != nil {
			return err
		}
		if err := expect("a window", before, 3*11+1); err != nil {
			return err
		}
		if c.Rank() < 2 {
			if err := w.Close(); err != nil {
				return err
			}
		}
		if err := expect("a window that one has", before, 3*11+1); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := expect("a window that all have closed", before, 0); err != nil {
			return err
		}
		d, err := c.Domain(0, 1, 2)
		if err != nil {
			return err
		}
		if _, err := d.AllocWindow(1, 0); err != nil {
			return err
		}
		if err := expect("a domain and its window", before, 3+1+3+1); err != nil {
			return err
		}
		if err := d.Close(); err != nil {
			return err
		}
		if err := expect("a closed domain", before, 0); err != nil {
			return err
		}
		for range 1000 {
			d, err := c.Domain(0, 1, 2)
			if err != nil {
				return err
			}
			if _, err := d.AllocWindow(1, 0); err != nil {
				return err
			}
			if err := d.Close(); err != nil {
				return err
			}
		}
		return expect("a thousand closed domains", before, 0)
	})
}

// TestLauncherGone checks the error of a waiting rank when the launcher closes `holder`,
// one of the files that Create has returned.
func TestLauncherGone(t *testing.T) {
	memory, holder, err := shm.Create(2)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	result := make(chan error)
	go func() {
		_, err := comm.Open(context.Background(), 0, 2, fmt.Sprintf("fd:%d", memory.Fd()), comm.Options{Timeout: commtest.Patience})
		result <- err
	}()
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	checkError(t, <-result, "rank 0: open, hello, rank 1: the launcher has ended")
}

// TestTooLarge checks that a window larger than the memory of the machine is an error, and
// that the error comes from the check before the allocation. Without the check the kernel
// would kill a process. The test runs only if the file system has a size limit, so that a
// missing check does no harm.
func TestTooLarge(t *testing.T) {
	hosttest.SetMemory(t, 2000)
	var fs unix.Statfs_t
	if err := unix.Statfs(shm.Folder, &fs); err != nil || fs.Blocks == 0 || fs.Blocks > 1<<33 {
		t.Skipf("%s has no limit: %d blocks, %v", shm.Folder, fs.Blocks, err)
	}
	c, err := comm.Open(context.Background(), 0, 1, commtest.Name(), comm.Options{Timeout: commtest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.AllocWindow(1<<46, 0)
	checkError(t, err, "rank 0: window, alloc: no memory for it: 70368744181760 bytes of shared memory: 7.04e+04 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has; ask for less")
	if !errors.Is(err, comm.ErrNoMemory) {
		t.Errorf("got %v, want ErrNoMemory", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestFull checks that a full file system leads to an error and not to a signal. It fills
// the file system with windows, and creates runs whose header or first segment does not
// fit.
func TestFull(t *testing.T) {
	mountSmall := func(t *testing.T, bytes int) string {
		dir := t.TempDir()
		if err := unix.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
			t.Skipf("cannot mount a small file system: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	t.Run("window", func(t *testing.T) {
		at := filepath.Join(mountSmall(t, 1<<20), "run")
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for rank := range 2 {
			wg.Go(func() {
				c, err := comm.Open(context.Background(), rank, 2, at, comm.Options{Timeout: commtest.Patience})
				if err != nil {
					errs[rank] = err
					return
				}
				for errs[rank] == nil {
					_, errs[rank] = c.AllocWindow(100<<10, 0)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		const why = "rank 0: window, alloc: no memory for it: 208896 bytes of shared memory: no space left on device; free some, or ask for less"
		checkError(t, errs[0], why)
		checkError(t, errs[1], "rank 1: window, alloc, rank 0: another rank has failed: "+why,
			"rank 1: window, all have it, rank 0: another rank has failed: "+why)
		if !errors.Is(errs[0], comm.ErrNoMemory) {
			t.Errorf("got %v, want ErrNoMemory", errs[0])
		}
	})
	for _, bytes := range []int{4096, 12 << 10} { // too few for the header, and for segment 0
		t.Run(fmt.Sprintf("run in %d bytes", bytes), func(t *testing.T) {
			dir := mountSmall(t, bytes)
			err := join(filepath.Join(dir, "run"), 2, 0)[0]
			if !errors.Is(err, comm.ErrNoMemory) {
				t.Errorf("got %v, want ErrNoMemory", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v, want nothing", left, err)
			}
		})
	}
}
