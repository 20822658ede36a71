package host

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// extractTree writes the files of the named archive in testdata to a new folder and returns
// the folder.
func extractTree(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range a.Files {
		file := filepath.Join(root, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, f.Data, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestAvailable checks Available and OOMKills with copies of the files in which several
// Linux kernels report memory. If no memory is reported, Reserve must accept every
// reservation.
func TestAvailable(t *testing.T) {
	const computer = "this computer has"
	for _, tt := range []struct {
		tree  string
		want  Memory
		kills uint64
	}{
		{"v2", Memory{1073741824, 873741824, "control group /user.slice/run.scope allows"}, 3},
		{"v1", Memory{2147483648, 1500000000, "control group /jobs/7 allows"}, 5},
		{"hybrid", Memory{4000000000, 3000000000, "control group /jobs allows"}, 2},
		{"nested", Memory{8000000000, 100000000, "control group /a allows"}, 0},
		{"container", Memory{1073741824, 1000000000, "control group /docker/4f3c allows"}, 1},
		{"namespace", Memory{1073741824, 0, "the control group of this container allows"}, 6},
		{"missing", Memory{16384000000, 12288000000, computer}, 8},
		{"damaged", Memory{16384000000, 12288000000, computer}, 0},
		{"limited", Memory{2000000000, 720000000, "the limit of the address space (ulimit -v) allows"}, 0},
	} {
		t.Run(tt.tree, func(t *testing.T) {
			t.Cleanup(Pretend(extractTree(t, tt.tree)))
			if got := Available(); got != tt.want {
				t.Errorf("memory %+v, want %+v", got, tt.want)
			}
			if got := OOMKills(); got != tt.kills {
				t.Errorf("%d killed, want %d", got, tt.kills)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Cleanup(Pretend(t.TempDir()))
		if got := Available(); got != (Memory{}) && got.Total != 0 {
			t.Errorf("memory %+v, want no memory, because it is not known", got)
		}
		if _, err := Reserve(math.MaxUint64); err != nil {
			t.Errorf("a reservation without known memory: %v, want no error", err)
		}
		if _, err := Reserve(math.MaxUint64); err != nil {
			t.Errorf("a second reservation without known memory: %v, want no error", err)
		}
	})
}

// TestHere checks that Available finds memory on the computer that runs the test, and no
// more free memory than there is in total.
func TestHere(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip("no /proc/meminfo:", err)
	}
	if got := Available(); got.Total == 0 || got.Free > got.Total {
		t.Errorf("memory %+v, want some, and no more free than there is", got)
	}
}

// TestReserve checks that reservations add up, and that a reservation is refused if too
// little memory is free. Calling the function that Reserve returns twice must have the same
// effect as calling it once.
func TestReserve(t *testing.T) {
	t.Cleanup(Pretend(extractTree(t, "v2")))
	first, err := Reserve(500_000_000)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Reserve(373_741_824)
	if err != nil {
		t.Fatal(err)
	}
	wantRefused := func(bytes uint64, want string) {
		t.Helper()
		_, err := Reserve(bytes)
		var short *MemoryError
		if !errors.As(err, &short) || err.Error() != want {
			t.Errorf("%d bytes: %v, want %s", bytes, err, want)
		}
	}
	wantRefused(1, "1e-09 GB of memory are needed, and 0 GB are free of the 1.07 GB that control group /user.slice/run.scope allows")
	first()
	first()
	wantRefused(math.MaxUint64, "1.84e+10 GB of memory are needed, and 0.5 GB are free of the 1.07 GB that control group /user.slice/run.scope allows")
	wantRefused(500_000_001, "0.5 GB of memory are needed, and 0.5 GB are free of the 1.07 GB that control group /user.slice/run.scope allows")
	if _, err := Reserve(500_000_000); err != nil {
		t.Error(err)
	}
	second()
}

// TestProduct checks products of numbers, some of which would overflow.
func TestProduct(t *testing.T) {
	for _, tt := range []struct {
		factors []int
		want    uint64
	}{
		{nil, 1},
		{[]int{3, 4, 5}, 60},
		{[]int{1 << 62, 0, 1 << 62}, 0},
		{[]int{-1, 5}, 0},
		{[]int{1 << 62, 3}, 3 << 62},
		{[]int{1 << 62, 4}, math.MaxUint64},
		{[]int{1 << 62, 1 << 62, 2}, math.MaxUint64},
	} {
		if got := Product(tt.factors...); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.factors, got, tt.want)
		}
	}
}
