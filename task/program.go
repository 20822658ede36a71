package task

import (
	"strconv"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Task is one task of a program.
type Task struct {
	Name    string
	Members int // PEs that it runs on at once
	Args    Args
	After   []ID   // explicit edges
	Scope   int32  // index of the innermost scope in the program, -1 outside of all
	Depth   int32  // scopes that it is in
	Line    string // of the orchestration
	// Neighbors is the queues between the members, which A and B count from 0.
	Neighbors []torch.Connection
	Buffers   topology.BufferKind // memory of their slots; "" is that of the topology

	tables []func(members ...int) []torch.Connection // that Neighbors is made of
	bound  *tl.Binding
}

// title is the task in messages.
func (t *Task) title(id ID) string { return t.Name + " (task " + strconv.Itoa(int(id)) + ")" }

// Scope is a part of a program whose tasks keep their storage until it ends.
type Scope struct {
	Name       string
	First, End ID // the tasks submitted in it, and in scopes within it: from First to before End
	Line       string
}

// Program is the tasks of one rank, in the order of submission.
type Program struct {
	Rank, Ranks int
	Tasks       []Task
	Scopes      []Scope
	Tensors     []*Tensor
}
