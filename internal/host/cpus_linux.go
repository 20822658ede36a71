package host

import "golang.org/x/sys/unix"

// CPUs returns the CPUs that this process may use, or nil if they cannot be determined.
func CPUs() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil // more CPUs than the set can hold: ranks are then not bound
	}
	for cpu := range 8 * len(set) * 8 {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list
}
