package memory

import (
	"fmt"

	"github.com/kernbench/kernbench/topology"
)

// Bytes is an amount of data or a size of memory.
type Bytes = topology.Bytes

// ID is the structural name of one memory of the machine.
type ID struct {
	Kind topology.Kind // KindHBM, KindSRAM or KindTCM
	SIP  int32
	Cube int32 // in its SIP
	PE   int32 // in its cube; 0 for the SRAM, which the PEs of a cube share
}

// String is the memory's name in the topology: "sip0.cube5.hbm3".
func (id ID) String() string {
	switch id.Kind {
	case topology.KindHBM:
		return fmt.Sprintf("sip%d.cube%d.hbm%d", id.SIP, id.Cube, id.PE)
	case topology.KindSRAM:
		return fmt.Sprintf("sip%d.cube%d.sram", id.SIP, id.Cube)
	case topology.KindTCM:
		return fmt.Sprintf("sip%d.cube%d.pe%d.tcm", id.SIP, id.Cube, id.PE)
	}
	return fmt.Sprintf("sip%d.cube%d.pe%d: component kind %d, which is no memory", id.SIP, id.Cube, id.PE, id.Kind)
}

// sizeKey is the field of topology.yaml that says how large the memory is.
func (id ID) sizeKey() string {
	switch id.Kind {
	case topology.KindHBM:
		return "cube.hbm.slice_size"
	case topology.KindSRAM:
		return "cube.sram.size"
	}
	return "pe.tcm.size"
}

// Addr is a byte address within one memory, from 0.
type Addr int64

// None is the address of an allocation of no bytes. It lies in no memory.
const None Addr = -1

// String is the address in hexadecimal, or "none".
func (a Addr) String() string {
	if a == None {
		return "none"
	}
	return fmt.Sprintf("%#x", int64(a))
}

// VA is a virtual address: a byte of some tensor, whichever memory holds it.
type VA int64

// String is the address in hexadecimal.
func (va VA) String() string { return fmt.Sprintf("%#x", int64(va)) }

// Segment is a run of bytes in one memory: a shard of a tensor, or the part of
// an access that falls into one shard.
type Segment struct {
	Memory ID
	Addr   Addr
	Bytes  Bytes
}

// String is the segment as errors name it: "sip0.cube5.hbm3[0x100:0x180]".
func (s Segment) String() string {
	return fmt.Sprintf("%v[%v:%v]", s.Memory, s.Addr, s.Addr+Addr(s.Bytes))
}
