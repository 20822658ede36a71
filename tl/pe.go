package tl

import "fmt"

// PE is the processing element that a kernel runs on, with every operation a
// kernel has. A kernel gets its own as first argument:
//
//	func scale(t *tl.PE, x tl.Ptr, n int)
type PE struct {
	m      Machine
	kernel string
	place  Place

	// What goes to the machine by pointer stays here, or every call would allocate.
	v     Value
	c     Compute
	into  Block
	cases []Case
}

// NewPE makes the PE on which a kernel, known to errors by name, runs. Machines
// call it; a kernel is given its PE.
func NewPE(m Machine, kernel string) *PE {
	return &PE{m: m, kernel: kernel, place: m.Place()}
}

// Through is the PE with operations that go through what wrap makes of its machine, for
// those who look at them on their way.
func (t *PE) Through(wrap func(Machine) Machine) *PE { return NewPE(wrap(t.m), t.kernel) }

// ProgramID is where the kernel runs along an axis: 0 is the PE in its cube, 1 the
// cube in its SIP, 2 the SIP.
func (t *PE) ProgramID(axis int) int {
	return t.along("ProgramID", axis, [3]int{t.place.PE, t.place.Cube, t.place.SIP})
}

// NumPrograms is how many there are along an axis: PEs in a cube, cubes in a SIP,
// SIPs.
func (t *PE) NumPrograms(axis int) int {
	return t.along("NumPrograms", axis, [3]int{t.place.PEs, t.place.Cubes, t.place.SIPs})
}

func (t *PE) along(op string, axis int, ids [3]int) int {
	if axis < 0 || axis > 2 {
		panic(t.fail(op, "", fmt.Errorf("no axis %d: 0 is the PE, 1 the cube, 2 the SIP", axis)))
	}
	return ids[axis]
}

// Rank is the index of this PE among those of the launch.
func (t *PE) Rank() int { return t.place.Rank }

// NumRanks is how many PEs the launch runs on.
func (t *PE) NumRanks() int { return t.place.Ranks }
