package attention

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Mesh is a grid of W×H holders of shards. A holder is one PE, or several PEs that share
// the heads. A lane is a mesh of PEs with the same index, one of each holder.
type Mesh struct {
	W, H  int
	Lanes [][]int // PEs of each lane, row by row of the mesh
}

// OfCube returns the PEs of a cube as a mesh with one lane. Neighbours in the mesh are
// close to each other on the die.
func OfCube(r *torch.Rank, sip, cube int) Mesh {
	g := r.Topology()
	pes := r.CubePEs(sip, cube)
	at := func(number int) topology.Point {
		sip, cube, pe := r.Place(number)
		return g.Node(g.PERouter(sip, cube, pe)).Pos
	}
	slices.SortStableFunc(pes, func(a, b int) int {
		return cmp.Or(cmp.Compare(at(a).Y, at(b).Y), cmp.Compare(at(a).X, at(b).X))
	})
	rows := 1
	for i := 1; i < len(pes); i++ {
		if at(pes[i]).Y != at(pes[i-1]).Y {
			rows++
		}
	}
	if len(pes)%rows != 0 { // rows have different lengths
		rows = 1
	}
	return Mesh{W: len(pes) / rows, H: rows, Lanes: [][]int{pes}}
}

// OfSIP returns the cubes of a SIP as a mesh whose holders are cubes. It uses the first PEs
// of each cube, one for each of the given number of lanes. It panics if a cube does not
// have that many PEs.
func OfSIP(r *torch.Rank, sip, lanes int) Mesh {
	spec := r.Topology().Spec()
	if lanes < 1 || lanes > spec.PEsPerCube() {
		panic(&torch.Error{Op: "OfSIP", Err: fmt.Errorf("%d PEs of each cube, and a cube has %d: take 1 to %d", lanes, spec.PEsPerCube(), spec.PEsPerCube())})
	}
	cubes := spec.SIP.CubeMesh
	m := Mesh{W: cubes.W, H: cubes.H, Lanes: make([][]int, lanes)}
	for cube := range m.W * m.H {
		for lane, pe := range r.CubePEs(sip, cube)[:lanes] {
			m.Lanes[lane] = append(m.Lanes[lane], pe)
		}
	}
	return m
}

// PEs returns all PEs of the mesh, lane by lane.
func (m Mesh) PEs() []int { return slices.Concat(m.Lanes...) }

// Holders returns the number of holders.
func (m Mesh) Holders() int { return m.W * m.H }

// check returns an error if the mesh is empty or a lane has the wrong number of PEs.
func (m Mesh) check() error {
	if m.W < 1 || m.H < 1 || len(m.Lanes) == 0 {
		return fmt.Errorf("attention: a mesh of %v: it has to have a place and a lane", m)
	}
	for i, lane := range m.Lanes {
		if len(lane) != m.Holders() {
			return fmt.Errorf("attention: a mesh of %v with %d PEs in lane %d: give each lane one for each place", m, len(lane), i)
		}
	}
	return nil
}

// mustBeValid panics if check returns an error. op is the name of the operation in the
// panic.
func (m Mesh) mustBeValid(op string) {
	if err := m.check(); err != nil {
		panic(&torch.Error{Op: op, Err: err})
	}
}

// Roots returns the root of each lane: the PE in the middle of the lane.
func (m Mesh) Roots() (pes []int) {
	m.mustBeValid("Roots")
	for _, lane := range m.Lanes {
		pes = append(pes, lane[m.grid().middle()])
	}
	return pes
}

// Connections returns the neighbour table: each PE is connected with its neighbours in the
// lane through the ports West, East, North and South. Row 0 is the northernmost.
func (m Mesh) Connections() (table []torch.Connection) {
	m.mustBeValid("Connections")
	for _, lane := range m.Lanes {
		for i, pe := range lane {
			for _, p := range []tl.Port{tl.East, tl.South} {
				if next := m.grid().neighbour(i, p); next >= 0 {
					table = append(table, torch.Connection{A: pe, APort: p, B: lane[next], BPort: opposite(p)})
				}
			}
		}
	}
	return table
}

// Rows returns a placement that divides the rows of a matrix over the holders and its
// columns over the lanes. If there are several lanes, they must consist of PEs of all cubes
// of the current device.
func (m Mesh) Rows() torch.Placement { return m.place("Rows", torch.On, torch.RowWise) }

// Copies returns a placement that gives every holder a copy of a matrix. Like Rows, it
// divides the columns over the lanes.
func (m Mesh) Copies() torch.Placement { return m.place("Copies", torch.OnEach, torch.Replicate) }

// place returns a placement of a matrix on the mesh. With one lane, it is the placement
// that `lane` returns for the PEs of that lane. With several lanes, it is a policy that
// divides the matrix over cubes as `cubes` says, and its columns over the PEs of each cube.
// `op` is the name of the operation in the panic if the mesh is not valid.
func (m Mesh) place(op string, lane func(pes ...int) torch.Placement, cubes torch.Split) torch.Placement {
	m.mustBeValid(op)
	if len(m.Lanes) == 1 {
		return lane(m.Lanes[0]...)
	}
	return torch.DPPolicy{Cube: cubes, PE: torch.ColumnWise, NumPEs: len(m.Lanes)}
}

func (m Mesh) grid() grid { return grid{m.W, m.H} }

// String returns the size of the mesh, such as "4×2, 1 lane".
func (m Mesh) String() string {
	if len(m.Lanes) == 1 {
		return fmt.Sprintf("%d×%d, 1 lane", m.W, m.H)
	}
	return fmt.Sprintf("%d×%d, %d lanes", m.W, m.H, len(m.Lanes))
}
