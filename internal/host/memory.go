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

// Memory is how much memory there is for this process and those that it starts.
type Memory struct {
	Total uint64 // bytes of the computer, the control group or the address space; 0: not known
	Free  uint64 // bytes of Total that can still be used
	Where string // what sets the limit: "this computer has", "control group /a/b allows"
}

// system is a root folder with the files that the kernel tells about memory: "/", or a
// copy for tests.
type system string

// here is the system that this process runs on.
var here system = "/"

// Pretend makes the package read the files of another root folder and begin without
// reservations, until the returned function is called. It is for tests.
func Pretend(root string) (restore func()) {
	before, booked := here, ledger
	here, ledger = system(root), &book{}
	return func() { here, ledger = before, booked }
}

// Available returns the memory of whatever has the least left: the computer, one of the
// control groups of this process, or its address space.
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

// computer returns the memory of the computer. Swap is not counted: a run that needs it
// hardly gets on.
func (s system) computer() Memory {
	info := s.fields("proc/meminfo")
	total, free := info["MemTotal:"]<<10, info["MemAvailable:"]<<10
	return Memory{total, min(free, total), "this computer has"}
}

// addressSpace returns what ulimit -v leaves to this process.
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

// text returns the contents of a file, "" if there is none.
func (s system) text(file string) string {
	b, _ := os.ReadFile(filepath.Join(string(s), file))
	return string(b)
}

// fields returns the numbers of a file of lines such as "MemTotal: 16 kB" or "file 4096".
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

// number returns the number in a file; ok is false if there is none, or it is "max".
func (s system) number(file string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s.text(file)), 10, 64)
	return n, err == nil
}

// GB writes a number of bytes as errors do, such as "1.07 GB".
func GB[T uint64 | float64](bytes T) string { return fmt.Sprintf("%.3g GB", float64(bytes)/1e9) }

// Product multiplies numbers that are not negative, and returns the largest number there
// is where the product is more.
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

// leastShare is the part of its own memory that a process should have left: what it takes
// in the time between two looks.
const leastShare = 4

// LimitHeap has the garbage collector keep this process within four fifths of the memory
// that is free, as long as what is in use fits, unless GOMEMLIMIT says otherwise. Without
// it garbage may take as much memory as what is in use.
func LimitHeap() {
	if m := Available(); m.Total > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m.Free / 5 * 4))
	}
}

// Exhausted returns an error if this process has used up nearly all of the memory that it
// can have, so that it can end before the kernel or the runtime ends it: for growth that
// cannot be estimated. Memory that can be collected does not count.
func Exhausted() error {
	if !nearlyUsedUp(Available(), ownMemory()) {
		return nil
	}
	debug.FreeOSMemory()
	m, own := Available(), ownMemory()
	if !nearlyUsedUp(m, own) {
		return nil
	}
	return fmt.Errorf("this process has %s of memory, and %s are free of the %s that %s", GB(own), GB(m.Free), GB(m.Total), m.Where)
}

func nearlyUsedUp(m Memory, own uint64) bool { return m.Total > 0 && m.Free < own/leastShare }

// ownMemory returns what the runtime has of the operating system.
func ownMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// group is a control group of this process, or an ancestor of one, for which the memory
// controller keeps its files.
type group struct {
	name   string // for errors: "control group /user.slice/a.scope"
	folder string // of its files, under the root folder
	controller
}

// controller names the files of the memory controller in a version of control groups.
type controller struct {
	limit, usage, kills string
	cache               string // begins what the controller counts as cache
}

var (
	version1 = controller{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "/memory.oom_control", "total_"}
	version2 = controller{"/memory.max", "/memory.current", "/memory.events", ""}
)

// noLimit is what control groups of version 1 show instead of "max": the most pages that
// there can be. It depends on the size of a page, so all numbers from here on count.
const noLimit = 1 << 62

// groupMemory returns the memory of all control groups that have a limit, from that of
// this process up to the root.
func (s system) groupMemory() (all []Memory) {
	for _, g := range s.groups() {
		limit, limited := s.number(g.folder + g.limit)
		used, known := s.number(g.folder + g.usage)
		if !limited || !known || limit >= noLimit {
			continue
		}
		// Pages of files can be dropped. Those of tmpfs, such as windows of shared memory,
		// cannot; the kernel does not count them among these.
		stat := s.fields(g.folder + "/memory.stat")
		used -= min(used, stat[g.cache+"active_file"]+stat[g.cache+"inactive_file"])
		all = append(all, Memory{limit, limit - min(limit, used), g.name + " allows"})
	}
	return all
}

// OOMKills returns how many processes of this process's control group the kernel has
// killed for want of memory; of the whole computer if there is no such group. Only the
// difference of two calls means something.
func OOMKills() uint64 { return here.oomKills() }

func (s system) oomKills() uint64 {
	for _, g := range s.groups() { // its own comes first
		if n, known := s.fields(g.folder + g.kills)["oom_kill"]; known {
			return n
		}
	}
	return s.fields("proc/vmstat")["oom_kill"]
}

// groups returns the control groups of this process that have files of the memory
// controller, from its own to the root. A system has the controller in one hierarchy, of
// version 1 or 2; where both are mounted the files tell which.
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
		// A container may see a part of the hierarchy only, and its own name from outside.
		below, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/"))
		if !ok || below != "" && below[0] != '/' || strings.Contains(name, "..") {
			below = "/"
		}
		for at := path.Clean("/" + below); ; at = path.Dir(at) {
			g := group{"control group " + path.Join(root, at), path.Join(point, at), files}
			if path.Join(root, at) == "/" { // that of the computer has no limit
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

// mount returns where the hierarchy with the memory controller is mounted, and which
// group is at the top there.
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

// unescape undoes what mountinfo does to characters that would end a field.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// contains reports whether a list with commas has a word.
func contains(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }
