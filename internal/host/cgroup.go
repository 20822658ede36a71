package host

import (
	"path"
	"strings"
)

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
