package host

import "golang.org/x/sys/unix"

// CPUs is the CPUs that this process may use.
func CPUs() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil // more than the set holds: ranks are not bound then
	}
	for cpu := range 8 * len(set) * 8 {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list
}

// Memory is how many bytes this computer has, 0 if that is not known.
func Memory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
