package host

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// Memory is an amount of memory for this process and the processes that it starts.
type Memory struct {
	Total uint64 // bytes of the computer, the control group or the address space; 0: not known
	Free  uint64 // bytes of Total that can still be used
	Where string // what sets the limit: "this computer has", "control group /a/b allows"
}

// system is a root folder with the files in which the kernel reports memory: "/", or a
// folder of test data.
type system string

// here is the system that this process runs on.
var here system = "/"

// Pretend makes the package read the files below another root folder and forget all
// reservations, until `restore` is called. It is for tests.
func Pretend(root string) (restore func()) {
	oldSystem, oldLedger := here, ledger
	here, ledger = system(root), &reservations{}
	return func() { here, ledger = oldSystem, oldLedger }
}

// Available returns the memory that this process can have. It is the memory of the
// computer, of one of the control groups of this process, or of its address space:
// whichever has the least free memory.
func Available() Memory { return here.memory() }

func (s system) memory() Memory {
	least := s.computer()
	for _, m := range append(s.groupMemory(), s.addressSpace()) {
		if m.Total > 0 && (least.Total == 0 || m.Free < least.Free) {
			least = m
		}
	}
	return least
}

// computer returns the memory of the computer. Swap does not count, because a run that
// needs swap makes hardly any progress.
func (s system) computer() Memory {
	info := s.fields("proc/meminfo")
	total, free := info["MemTotal:"]<<10, info["MemAvailable:"]<<10
	return Memory{total, min(free, total), "this computer has"}
}

// addressSpace returns the memory that ulimit -v leaves to this process, or a zero Memory
// if there is no limit.
func (s system) addressSpace() Memory {
	for line := range strings.Lines(s.text("proc/self/limits")) {
		text, found := strings.CutPrefix(line, "Max address space")
		if !found {
			continue
		}
		limit, err := strconv.ParseUint(strings.Fields(text + " 0")[0], 10, 64)
		if err != nil {
			break // unlimited
		}
		used := s.fields("proc/self/status")["VmSize:"] << 10
		return Memory{limit, limit - min(limit, used), "the limit of the address space (ulimit -v) allows"}
	}
	return Memory{}
}

// text returns the contents of a file of the system, or "" if the file cannot be read.
func (s system) text(file string) string {
	b, _ := os.ReadFile(filepath.Join(string(s), file))
	return string(b)
}

// fields returns the numbers, by name, in a file with lines such as "MemTotal: 16 kB" or
// "file 4096". It ignores the units.
func (s system) fields(file string) map[string]uint64 {
	all := map[string]uint64{}
	for line := range strings.Lines(s.text(file)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseUint(words[1], 10, 64); err == nil {
			all[words[0]] = n
		}
	}
	return all
}

// number returns the number that is the content of a file. ok is false if the content is
// not a number, for example "max".
func (s system) number(file string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s.text(file)), 10, 64)
	return n, err == nil
}

// GB formats a number of bytes for errors, such as "1.07 GB".
func GB[T uint64 | float64](bytes T) string { return fmt.Sprintf("%.3g GB", float64(bytes)/1e9) }

// Product multiplies numbers. It returns the largest uint64 instead of overflowing, and 0
// if a factor is 0 or negative.
func Product[T int | int64 | uint64](factors ...T) uint64 {
	n := uint64(1)
	for _, f := range factors {
		if f <= 0 {
			return 0
		}
		if n > math.MaxUint64/uint64(f) {
			n = math.MaxUint64
		} else {
			n *= uint64(f)
		}
	}
	return n
}

// minFreeShare is a divisor: a process should have at least its own memory divided by
// minFreeShare free, because it may allocate a quarter more between two calls of Exhausted.
const minFreeShare = 4

// LimitHeap sets the soft memory limit of the garbage collector to four fifths of the free
// memory, unless GOMEMLIMIT is set. Without the limit, garbage may take as much memory as
// the live heap.
func LimitHeap() {
	if m := Available(); m.Total > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m.Free / 5 * 4))
	}
}

// Exhausted returns an error if this process has used nearly all of the memory that it can
// have. The caller can then stop before the kernel or the runtime kills the process.
// Exhausted is for work whose memory cannot be estimated in advance. Garbage does not count
// as used.
func Exhausted() error {
	if !isNearlyUsed(Available(), ownMemory()) {
		return nil
	}
	debug.FreeOSMemory()
	m, own := Available(), ownMemory()
	if !isNearlyUsed(m, own) {
		return nil
	}
	return fmt.Errorf("this process has %s of memory, and %s are free of the %s that %s", GB(own), GB(m.Free), GB(m.Total), m.Where)
}

func isNearlyUsed(m Memory, own uint64) bool { return m.Total > 0 && m.Free < own/minFreeShare }

// ownMemory returns the number of bytes that the Go runtime holds from the operating
// system.
func ownMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// group is a control group that contains this process and has files of the memory
// controller.
type group struct {
	name   string // for errors: "control group /user.slice/a.scope"
	folder string // folder of its files, below the root folder
	controller
}

// controller has the names of the memory controller's files in a version of control groups.
type controller struct {
	limit, usage, kills string
	cache               string // prefix of the keys that count cache of files in memory.stat
}

var (
	version1 = controller{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "/memory.oom_control", "total_"}
	version2 = controller{"/memory.max", "/memory.current", "/memory.events", ""}
)

// noLimit is the smallest limit that means no limit. Control groups of version 1 show the
// largest possible number of pages, in bytes, instead of "max". That number depends on the
// page size.
const noLimit = 1 << 62

// groupMemory returns the memory of the control groups of this process, the innermost group
// first. It leaves out groups without a limit.
func (s system) groupMemory() (all []Memory) {
	for _, g := range s.groups() {
		limit, limited := s.number(g.folder + g.limit)
		used, known := s.number(g.folder + g.usage)
		if !limited || !known || limit >= noLimit {
			continue
		}
		// The kernel can drop cached pages of files. It cannot drop pages of tmpfs, such as
		// windows of shared memory, and does not count these as cache of files.
		stat := s.fields(g.folder + "/memory.stat")
		used -= min(used, stat[g.cache+"active_file"]+stat[g.cache+"inactive_file"])
		all = append(all, Memory{limit, limit - min(limit, used), g.name + " allows"})
	}
	return all
}

// OOMKills returns the number of processes in this process's control group that the kernel
// has killed because memory ran out. Without such a group, it counts the processes of the
// whole computer. Only the difference between two calls is meaningful.
func OOMKills() uint64 { return here.oomKills() }

func (s system) oomKills() uint64 {
	for _, g := range s.groups() { // the innermost group first
		if n, known := s.fields(g.folder + g.kills)["oom_kill"]; known {
			return n
		}
	}
	return s.fields("proc/vmstat")["oom_kill"]
}

// groups returns the control groups of this process that have files of the memory
// controller, from the innermost group to the root. A system has the controller in one
// hierarchy, of version 1 or 2. If both versions are mounted, the hierarchy with the files
// is the right one.
func (s system) groups() (all []group) {
	for line := range strings.Lines(s.text("proc/self/cgroup")) {
		// 4:memory:/a/b of version 1, 0::/a/b of version 2
		_, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		controllers, name, ok := strings.Cut(rest, ":")
		v2, files := controllers == "", version1
		if v2 {
			files = version2
		}
		if !ok || !v2 && !contains(controllers, "memory") {
			continue
		}
		root, point, ok := s.mount(v2)
		if !ok {
			continue
		}
		// A container may see only a part of the hierarchy, while the name of its group is
		// the one that the group has outside of the container.
		below, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/"))
		if !ok || below != "" && below[0] != '/' || strings.Contains(name, "..") {
			below = "/"
		}
		for at := path.Clean("/" + below); ; at = path.Dir(at) {
			g := group{"control group " + path.Join(root, at), path.Join(point, at), files}
			if path.Join(root, at) == "/" { // the root group of the computer has no limit
				g.name = "the control group of this container"
			}
			if _, ok := s.number(g.folder + g.usage); ok {
				all = append(all, g)
			}
			if at == "/" {
				break
			}
		}
	}
	return all
}

// mount finds the hierarchy of control groups that has the memory controller. It looks for
// a hierarchy of version 2 if v2 is true, and of version 1 otherwise. It returns the name
// of the group at the root of the hierarchy and the mount point. ok is false if there is no
// such hierarchy.
func (s system) mount(v2 bool) (root, point string, ok bool) {
	for line := range strings.Lines(s.text("proc/self/mountinfo")) {
		// 36 35 98:0 /root /point rw,relatime shared:1 - cgroup2 source rw,nsdelegate
		head, tail, found := strings.Cut(line, " - ")
		mount, kind := strings.Fields(head), strings.Fields(tail)
		if !found || len(mount) < 5 || len(kind) < 3 {
			continue
		}
		if v2 && kind[0] == "cgroup2" || !v2 && kind[0] == "cgroup" && contains(kind[2], "memory") {
			return unescape.Replace(mount[3]), unescape.Replace(mount[4]), true
		}
	}
	return "", "", false
}

// unescape decodes the escapes of mountinfo for characters that would end a field.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// contains reports whether a comma-separated list contains a word.
func contains(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }
